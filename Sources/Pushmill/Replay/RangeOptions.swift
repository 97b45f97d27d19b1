import PushmillKafka
import PushmillPayload
import PushmillReplay
import PushmillStages
import PushmillTelemetry

extension Invocation {
    /// The part of a topic that the options select.
    func range(of topic: String) throws(ProgramError) -> TopicRange {
        var range = TopicRange(topic: topic)
        range.partitions = try values(.partition, .integer(0...Int(Int32.max))).map { Int32($0) }
        let bound = SettingFormat(
            expected: "an offset, a time such as 2026-11-20T08:00:00Z, or an age such as 2h",
            { TopicRange.Bound($0, now: WallClock.system.now() / 1_000_000) }, render: { "\($0)" })
        range.from = try value(.from, bound)
        range.to = try value(.to, bound)
        if case .time(let from) = range.from, case .time(let to) = range.to, from > to {
            throw .usage("--from is later than --to")
        }
        return range
    }
}

extension Option {
    static let range = [partition, from, to]
    static let partition = repeated("partition", "NUMBER", "a partition to read; default: all")
    static let from = value(
        "from", "PLACE", "where to start: an offset, a time (2026-11-20T08:00:00Z), or an age (2h)")
    static let to = value("to", "PLACE", "where to end, exclusive; as --from")
}

extension Configuration {
    /// For a command that writes: without `transactional.id`, which would abort the service's open transaction.
    func plainProducer() throws(ProgramError) -> ClientProperties {
        var properties = try kafka.client(.producer)
        properties["transactional.id"] = nil
        return properties
    }

    func read(_ range: TopicRange) throws -> TopicRecords {
        guard !kafka.isEmbedded else {
            throw ProgramError.unreadableConfiguration(
                "the embedded broker runs only inside the service: name the brokers to read from")
        }
        let properties = try kafka.client(.consumer)
        do throws(ReplayError) {
            return try TopicRecords(range, properties)
        } catch {
            // librdkafka reports the same for brokers that are unavailable and for brokers that refuse the login.
            if case .kafka(_, let reason) = error, reason.isTimeOut { try Startup.reach(properties) }
            throw error
        }
    }
}

/// Shows how far a command has come, on a terminal's last line; does nothing without a terminal.
final class Progress {
    private static let width = 30

    private let show: (@Sendable (String) -> Void)?
    /// The number of records, with those skipped, if known.
    private let total: Int?
    private var count = 0
    private var skipped = 0

    init(_ show: (@Sendable (String) -> Void)?, total: Int?) {
        self.show = show
        self.total = total
    }

    func show(_ count: Int) {
        self.count = count
        guard let total, total > 0 else { return show?("\(count) records") ?? () }
        let done = min(count + skipped, total)
        let bar = String(repeating: "#", count: Self.width * done / total)
        show?("[\(bar.padded(to: Self.width))] \(100 * done / total)%  \(count) records")
    }

    /// Records that are read, but of another time than asked for.
    func skip(_ skipped: Int) {
        self.skipped = skipped
        show(count)
    }

    func clear() { show?("") }
}
