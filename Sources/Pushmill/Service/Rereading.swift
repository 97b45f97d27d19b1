import PushmillStages
import PushmillTelemetry

/// The configuration that is read again at SIGHUP: its log level takes effect, everything else at the next start.
struct Rereading: Sendable {
    private let sections: [Substring: [Substring]]

    init(_ configuration: Configuration) { sections = Self.sections(of: configuration) }

    /// `read` gives the configuration as it is now. False where it cannot.
    func apply(to log: Log, _ read: () throws(ProgramError) -> Configuration) -> Bool {
        let configuration: Configuration
        do throws(ProgramError) {
            configuration = try read()
        } catch {
            log.error("the configuration cannot be read again: it stays as it was", [.error(text: "\(error)")])
            return false
        }
        if log.level != configuration.log.level {
            log.level = configuration.log.level
            log.log(log.level, "Log level changed", [.setting(log.level.name)])
        }
        let new = Self.sections(of: configuration)
        for name in sections.keys.sorted() where sections[name] != new[name] {
            log.warning("settings have changed that a restart takes over", [.setting(String(name))])
        }
        return true
    }

    /// The lines of what takes effect, by section, but for the level. With the secrets among librdkafka's properties, to be
    /// compared and never shown.
    private static func sections(of configuration: Configuration) -> [Substring: [Substring]] {
        var sections: [Substring: [Substring]] = [:]
        var name: Substring = ""
        for line in YAMLText.render(configuration.effective).split(separator: "\n") {
            if !line.hasPrefix(" ") { name = line.prefix { $0 != ":" } }
            if name == "log", line.hasPrefix("  level:") { continue }
            sections[name, default: []].append(line)
        }
        for section in [KafkaSettings.Section.consumer, .producer] {
            let properties = configuration.kafka.properties(for: section)
            sections["kafka", default: []] += properties.map { "\($0.name): \($0.value)" }.sorted()
        }
        return sections
    }
}
