import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillStores

@testable import PushmillEngine

/// A shard over scripted ports, and what most tests do with one.
final class ScriptedShard {
    typealias Call = ScriptedPorts.Call

    let ports = ScriptedPorts()
    private var shard: Shard<ScriptedPorts>
    private var tail: [Int32: Int64] = [:]
    /// The offset of the next record in each partition's changelog.
    private var changelogEnds: [Int32: Int64] = [:]

    init(_ change: (inout ShardSettings) -> Void = { _ in }) {
        var settings = ShardSettings()
        settings.maxInFlight = 16
        change(&settings)
        shard = Shard(settings, ports: ports)
    }

    var figures: ShardFigures { shard.figures }
    var wantsRecords: Bool { shard.wantsRecords }
    var hasEnded: Bool { shard.hasEnded }
    var commitNumber: UInt32 { shard.checkpoint.number }
    var revocationDeadline: Instant? { shard.revocation?.deadline }
    var mayHaveMoreCounts: Bool { shard.restore.mayHaveMore }
    /// How many records with refused outputs are still known.
    var refusals: Int { shard.suspects.count + shard.poisonRecords.count }
    /// The budget for the counts of each partition, in bytes.
    var countBudgets: [Int?] { shard.partitions.indices.map { shard.partitions[$0].counts?.value.budget } }

    static func partition(_ partition: Int32 = 0) -> TopicPartition { TopicPartition("events", partition) }

    static func position(_ offset: Int64, of partition: Int32 = 0) -> Position {
        Position(Self.partition(partition), offset: offset)
    }

    /// A committed position with its metadata, as a shard writes it.
    static func commit(_ offset: Int64, of partition: Int32 = 0) -> Position {
        let metadata = OffsetMetadata(base: offset, completed: []).encoded().text
        return Position(Self.partition(partition), offset: offset, metadata: metadata)
    }

    /// Returns when the shard is to turn again.
    @discardableResult
    func turn(after time: Duration = .zero) -> Instant {
        ports.now = ports.now + time
        return shard.turn()
    }

    func giveUp() { shard.giveUp() }

    /// Does one turn, and returns what the shard asked for in it.
    func callsOfTurn(after time: Duration = .zero) -> [Call] {
        _ = ports.takeCalls()
        turn(after: time)
        return ports.takeCalls()
    }

    /// Turns until these partitions are read, from this committed offset.
    func begin(_ partitions: Range<Int32> = 0..<1, at offset: Int64 = 0) {
        ports.events = [.assigned(partitions.map { Self.partition($0) })]
        turn()
        ports.events = [.committed(partitions.map { Self.commit(offset, of: $0) })]
        if shard.settings.counts {
            ports.replica = partitions.map { (.end(partition: $0, offset: 0, isWhole: true), [], []) }
        }
        for _ in 0..<2 { turn() }
        for partition in partitions { tail[partition] = offset }
        _ = ports.takeCalls()
    }

    /// Appends this many records to the partition.
    func deliver(_ count: Int = 1, of partition: Int32 = 0, to recipient: String = "anna") {
        for _ in 0..<count {
            let offset = tail[partition, default: 0]
            ports.messages.append(
                ScriptedPorts.Message(partition: partition, offset: offset, recipient: recipient))
            tail[partition] = offset + 1
        }
    }

    /// Messages at these offsets wait for a stage, for that time at most. All others end at once, at that destination.
    func suspend(
        _ offsets: Set<Int64>, for time: Duration = .seconds(1), others: Verdict.Destination = .output
    ) {
        ports.chain = { message, now in
            offsets.contains(message.offset) ? .suspended(until: now + time) : .ended(others)
        }
    }

    /// Everything that was sent is reported as stored.
    func acknowledge() {
        for (tag, _) in ports.takeSent() { ports.reports.append(OutputReport(tag: tag)) }
    }

    /// Count changes that were sent are reported as stored, from this offset of each partition's changelog on, or from
    /// where the last ones ended: this many of them, or all.
    func acknowledgeChanges(_ count: Int = .max, at offset: Int64? = nil) {
        if let offset { changelogEnds = changelogEnds.mapValues { _ in offset } }
        for change in ports.takeSentChanges().prefix(count) {
            let partition = EntryTable.change(ofTag: change.tag)?.partition ?? 0
            let end = changelogEnds[partition, default: offset ?? 0]
            ports.reports.append(OutputReport(tag: change.tag, offset: end))
            changelogEnds[partition] = end + 1
        }
    }

    /// Everything that was sent is reported as failed.
    func fail(_ failure: OutputReport<ScriptedPorts.Output>.Failure) {
        for (tag, output) in ports.takeSent() {
            ports.reports.append(OutputReport(tag: tag, failure: failure, returned: output))
        }
    }

    /// Does one turn, and returns the offsets of the outputs that were published in it.
    func published(after time: Duration = .zero) -> [Int64] {
        callsOfTurn(after: time).compactMap { if case .publish(let output) = $0 { output.offset } else { nil } }
    }

    /// Does one turn, and returns the positions of its commit.
    func committed(after time: Duration = .zero) -> [Position]? {
        callsOfTurn(after: time).compactMap { call -> [Position]? in
            if case .commit(let positions, _) = call { positions } else { nil }
        }.last
    }

    /// Does one turn. If the shard asks the group whether the partitions are still its own, the group says yes.
    func confirm() {
        for case .commit(_, let number) in callsOfTurn() where number > 1 << 31 {
            ports.events.append(.commitEnded(number: number, .accepted))
        }
    }

    /// The group answers the commit that is under way.
    func acceptCommit(_ outcome: CommitAnswer = .accepted) {
        ports.events.append(.commitEnded(number: commitNumber, outcome))
    }

    /// The changelog takes the incarnation of a recreated log, and the group its beginning. Returns what the shard asks
    /// for then.
    func acceptNewLog() -> [Call] {
        acknowledgeChanges()
        turn()
        turn(after: .milliseconds(20))
        acceptCommit()
        return callsOfTurn() + callsOfTurn()
    }
}

/// What tests of counts and of transactions do with a shard.
extension ScriptedShard {
    typealias ReplicaEntry = (event: ChangelogEvent, key: [UInt8], value: [UInt8])

    /// A shard whose messages add one each to a count.
    static func counting(_ change: (inout ShardSettings) -> Void = { _ in }) -> ScriptedShard {
        let shard = ScriptedShard {
            $0.counts = true
            change(&$0)
        }
        shard.ports.chain = { _, _ in .ended(.output, .add(1)) }
        return shard
    }

    static func transactional(_ change: (inout ShardSettings) -> Void = { _ in }) -> ScriptedShard {
        ScriptedShard {
            $0.isTransactional = true
            change(&$0)
        }
    }

    static func record(_ offset: Int64, _ recipient: String, _ value: String, of partition: Int32 = 0) -> ReplicaEntry {
        (
            .record(partition: partition, offset: offset, timestamp: 500, key: nil, value: nil),
            ScriptedPorts.key(of: recipient), Array(value.utf8)
        )
    }

    static func end(_ offset: Int64, of partition: Int32 = 0, isWhole: Bool = true) -> ReplicaEntry {
        (.end(partition: partition, offset: offset, isWhole: isWhole), [], [])
    }

    /// Up to the turn in which the shard asks for the partition's counts.
    func assign(_ partition: Int32 = 0, at offset: Int64 = 0) {
        ports.events = [.assigned([Self.partition(partition)])]
        turn()
        ports.events = [.committed([Self.commit(offset, of: partition)])]
    }

    /// One message for each recipient, up to where its count is stored, from this offset of the changelog on.
    func count(_ recipients: [String] = ["anna"], of partitions: Range<Int32> = 0..<1, at offset: Int64? = nil) {
        for partition in partitions { for recipient in recipients { deliver(of: partition, to: recipient) } }
        turn()
        acknowledge()
        turn()
        turn(after: .milliseconds(20))
        acknowledgeChanges(at: offset)
    }
}

extension [ScriptedPorts.Call] {
    /// The news among these calls.
    var told: [ShardNews] { compactMap { if case .tell(let news) = $0 { news } else { nil } } }
}
