import Glibc
import PushmillStages
import PushmillTelemetry
import Synchronization

/// The signals by which a service is told what to do, as values for one reader.
package enum Signals {
    /// The end of the pipe that the handler writes to.
    private static let pipe = Atomic<Int32>(-1)

    private static let isEnding = Atomic<Bool>(false)

    /// A signal to end has come, whether its reader has seen it or not.
    package static var isEndWanted: Bool { isEnding.load(ordering: .relaxed) }

    /// From now on these signals do not end the process; each becomes a value for the reader, if there is one. Once a
    /// process.
    package static func take(_ signals: [Int32]) -> AsyncStream<Int32> {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { return AsyncStream { $0.finish() } }
        pipe.store(ends[1], ordering: .sequentiallyConsistent)
        // The handler must not be the first to use it: that may take a lock.
        _ = isEndWanted
        signal(SIGPIPE, SIG_IGN)
        // A file that may grow no more is an error for who writes it, as a full disk is.
        signal(SIGXFSZ, SIG_IGN)
        for number in signals { signal(number, Self.handle) }
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        let source = ends[0]
        // A thread that only waits, for as long as the process lives.
        _ = try? Thread(named: "signals") {
            var byte: UInt8 = 0
            while true {
                let count = read(source, &byte, 1)
                if count == 1 { continuation.yield(Int32(byte)) } else if count == 0 || errno != EINTR { return }
            }
        }
        return stream
    }

    /// On whatever thread the system interrupts: sets a flag, writes one byte and nothing else.
    private static let handle: @convention(c) (Int32) -> Void = { number in
        if number != SIGHUP { isEnding.store(true, ordering: .relaxed) }
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(pipe.load(ordering: .relaxed), &byte, 1)
    }
}

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
