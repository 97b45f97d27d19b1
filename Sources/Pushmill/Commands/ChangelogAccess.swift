import PushmillEngine
import PushmillKafka
import PushmillPayload
import PushmillReplay
import PushmillStores

/// The counts of a service, as its changelog has them.
struct ChangelogAccess {
    private static let patience: Int32 = 10_000

    private let configuration: Configuration
    private let topic: String
    private let console: Console
    private let partitions: Int

    init(_ configuration: Configuration, _ console: Console) throws {
        self.configuration = configuration
        topic = configuration.topics.badgeChangelog
        self.console = console
        partitions = try configuration.read(TopicRange(topic: topic)).ends.count
    }

    /// The partition that Java clients choose for events whose key is the recipient.
    func partition(of recipient: [UInt8]) -> TopicPartition {
        recipient.withUnsafeBytes { TopicPartition(of: $0, in: topic, partitions: partitions) }
    }

    /// Visits the partition of that number, else all of them one by one, so only one is in memory at a time. Throws
    /// at the end if they have records, but no count.
    func forEachView(
        of number: Int? = nil, _ body: (TopicPartition, ChangelogView) throws -> Void
    ) throws {
        var (hasCounts, hasOthers) = (false, false)
        if let number, !(0..<partitions).contains(number) {
            throw ProgramError.usage("the topic \(topic) has \(partitions) partitions, numbered from 0")
        }
        for index in number.map({ $0..<($0 + 1) }) ?? 0..<partitions {
            let partition = TopicPartition(topic, Int32(clamping: index))
            let (view, malformed) = try view(of: partition)
            hasCounts = hasCounts || !view.isEmpty
            hasOthers = hasOthers || malformed > 0
            try body(partition, view)
        }
        if hasOthers, !hasCounts {
            throw ProgramError.badData(
                "the topic \(topic) has records, but no counts: correct topics.badge-changelog")
        }
    }

    /// The counts that result from the partition's records, and how many records are none.
    private func view(of partition: TopicPartition) throws -> (ChangelogView, malformed: Int) {
        var range = TopicRange(topic: topic)
        range.partitions = [partition.partition]
        let records = try configuration.read(range)
        var view = ChangelogView()
        var malformed = 0
        while case let batch = try records.next(10_000), !batch.isEmpty {
            for record in batch {
                do throws(ChangelogRecord.Malformed) {
                    try view.apply(key: record.key, value: record.payload)
                } catch .version(let version) {
                    // Without this record, what is shown or written would be wrong.
                    throw ProgramError.badData(
                        "\(partition)/\(record.offset): a count of unknown version \(version): use the release that wrote it"
                    )
                } catch {
                    malformed += 1
                    console.error("warning: \(partition)/\(record.offset) is not a count: \(error.reason)")
                }
            }
        }
        return (view, malformed)
    }

    /// Throws if a change would be lost: the topic is not compacted, as far as brokers tell, or instances are running,
    /// which would undo it.
    func checkMayChange() throws {
        try ChangelogTopic.checkCompaction(of: topic, Startup.client(configuration.kafka.client(.producer)))
        let properties = try configuration.kafka.client(.consumer)
        let group = properties["group.id"] ?? ""
        let members = try explaining("cannot find out whether the service runs, in the group \(group)") {
            try ClusterClient.memberCount(ofGroupIn: properties, topic: topic, milliseconds: Self.patience)
        }
        guard let count = members else {
            return console.error("warning: the brokers do not report whether the group \(group) has members")
        }
        guard count == 0 else {
            throw ProgramError.internalFailure(
                "the group \(group) has \(count) members, which would undo the change: stop the service first")
        }
    }

    /// Keeps the position of the event that was counted last: so this is the account's latest state, whatever is stored
    /// elsewhere, and that event is not counted again.
    func set(_ keys: [[UInt8]], to count: Int32, _ view: ChangelogView, in partition: TopicPartition) throws {
        try explaining("cannot write to \(partition)") {
            let sender = try RecordSender(configuration.plainProducer())
            for key in keys {
                var state = view.state(ofKey: key)
                state.count = count
                try sender.send(RecordEnvelope(key, state, in: partition), as: "a count")
            }
            _ = sender.settle(patience: 300)
            try sender.check()
        }
    }
}

extension RecordEnvelope {
    /// An account's state in the form of the changelog.
    init(_ key: [UInt8], _ state: CountState, in partition: TopicPartition) {
        self.init()
        topic = partition.topic
        self.partition = partition.partition
        self.key = key
        var value: [UInt8] = []
        ChangelogRecord.encode(state, into: &value)
        payload = value
    }
}
