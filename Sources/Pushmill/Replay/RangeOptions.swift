import PushmillReplay
import PushmillTelemetry

/// Which part of a topic is meant.
struct RangeOptions {
    static let all = [Option.partition, .from, .to]

    private let partitions: [Int32]
    private let from: TopicRange.Bound?
    private let to: TopicRange.Bound?

    init(_ invocation: Invocation) throws(ProgramError) {
        var partitions: [Int32] = []
        for text in invocation.texts(.partition) {
            guard let number = Int32(text), number >= 0 else {
                throw .usage("\(Option.partition.label): expected a partition's number, found '\(text)'")
            }
            partitions.append(number)
        }
        self.partitions = partitions
        from = try Self.bound(.from, invocation)
        to = try Self.bound(.to, invocation)
    }

    private static func bound(_ option: Option, _ invocation: Invocation) throws(ProgramError) -> TopicRange.Bound? {
        guard let text = invocation.text(option) else { return nil }
        if let bound = TopicRange.Bound(text, now: WallClock.system.now() / 1_000_000) { return bound }
        throw .usage(
            "\(option.label): expected an offset, a time such as 2026-11-20T08:00:00Z, or how long ago such as 2h; "
                + "found '\(text)'")
    }

    var isEmpty: Bool { partitions.isEmpty && from == nil && to == nil }

    func of(_ range: TopicRange) -> TopicRange {
        var range = range
        range.partitions = partitions
        range.from = from
        range.to = to
        return range
    }
}

extension Option {
    static let partition = repeated("partition", "NUMBER", "a partition to read; all of them unless given")
    static let from = value(
        "from", "PLACE", "where to begin: an offset, a time (2026-11-20T08:00:00Z), or how long ago (2h)")
    static let to = value("to", "PLACE", "where to end, itself not included; as --from")
}
