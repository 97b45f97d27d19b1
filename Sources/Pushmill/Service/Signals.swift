import Glibc
import PushmillPayload
import PushmillStages
import PushmillTelemetry
import Synchronization

/// The signals that control a service, as values for one reader.
package struct Signals: Sendable {
    /// The end of the pipe that the reader reads from; -1 if there is none.
    private let source: Int32

    /// The end of the pipe that the handler writes to.
    private static let pipe = Atomic<Int32>(-1)

    private static let isEnding = Atomic<Bool>(false)

    /// True after a signal to end, even if its reader has not seen it yet.
    package static var isEndWanted: Bool { isEnding.load(ordering: .relaxed) }

    /// From then on these signals do not end the process; each becomes a value for the reader, if there is one. To be
    /// called once per process.
    package static func take(_ signals: [Int32]) -> Signals {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { return Signals(source: -1) }
        pipe.store(ends[1], ordering: .sequentiallyConsistent)
        // The handler must not be the first to use the flag: the first use may take a lock.
        _ = isEndWanted
        signal(SIGPIPE, SIG_IGN)
        // A write beyond the limit for the size of a file then fails, as on a full disk.
        signal(SIGXFSZ, SIG_IGN)
        for number in signals { signal(number, Self.handle) }
        return Signals(source: ends[0])
    }

    /// Waits for the next signal. Nil if there is no pipe.
    package func next() -> Int32? {
        var byte: UInt8 = 0
        while true {
            let count = read(source, &byte, 1)
            if count == 1 { return Int32(byte) }
            if count == 0 || errno != EINTR { return nil }
        }
    }

    /// Runs on whichever thread the system interrupts: sets a flag, writes one byte and does nothing else.
    private static let handle: @convention(c) (Int32) -> Void = { number in
        if number != SIGHUP { isEnding.store(true, ordering: .relaxed) }
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(pipe.load(ordering: .relaxed), &byte, 1)
    }
}

/// Reads the configuration again at SIGHUP: its log level takes effect, everything else at the next start.
struct Rereading: Sendable {
    private let sections: [Substring: [Substring]]

    init(_ configuration: Configuration) { sections = Self.sections(of: configuration) }

    /// `read` returns the current configuration. False if that fails.
    func apply(to log: Log, _ read: () throws(ProgramError) -> Configuration) -> Bool {
        let configuration: Configuration
        do throws(ProgramError) {
            configuration = try read()
        } catch {
            log.error("cannot reload the configuration: the previous one stays in use", [.error(text: "\(error)")])
            return false
        }
        if log.level != configuration.log.level {
            log.level = configuration.log.level
            log.log(log.level, "Log level changed", [.setting(log.level.name)])
        }
        let new = Self.sections(of: configuration)
        for name in sections.keys.sorted() where sections[name] != new[name] {
            log.warning("changed settings take effect after a restart", [.setting(String(name))])
        }
        return true
    }

    /// The lines of the settings in effect, by section, without the log level. They include the secrets among
    /// librdkafka's properties: to be compared and never shown.
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
            // librdkafka has read these when its clients were made.
            for property in properties where KafkaSettings.isOfFile(property.name) {
                sections["kafka.\(property.name)"] = ["\(property.value): \(hash(ofFile: property.value))"]
            }
        }
        return sections
    }

    /// 0 for what can be read only once, and for a folder of certificates.
    private static func hash(ofFile path: String) -> Int {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return 0 }
        return (try? InputFile(path: path).rest(limit: 1 << 20)).hashValue
    }
}
