import PushmillEngine
import PushmillKafka
import PushmillStores
import PushmillTelemetry
import PushmillTestSupport
import Testing

/// A topic of contacts whose partitions have contacts of their own, and an instance that follows some of them.
final class PartitionedContacts: Sendable {
    let brokers: Brokers
    let topic = "test-contacts-\(UInt64.random(in: 0 ... .max))"
    let people: Feeder
    private let folder: TemporaryFolder
    var state: String { "\(folder.path)/state.sqlite" }

    /// Blocks.
    init(partitions: Int = 3, brokers count: Int = 1) throws {
        brokers = try Brokers(count: count)
        folder = try TemporaryFolder()
        try brokers.createTopic(topic, partitions: partitions, settings: [("cleanup.policy", "compact")])
        people = try Feeder(brokers, topic: topic)
    }

    static func own(_ partition: Int32) -> String { #"{"owner":"o\#(partition)","id":"c"}"# }
    static let shared = #"{"id":"all"}"#
    static func name(_ name: String) -> [UInt8] { Array(#"{"name":"\#(name)"}"#.utf8) }

    /// Two contacts in each partition, one of which belongs to everyone.
    static func fill(_ people: Feeder, partitions: Int) async throws {
        for partition in 0..<Int32(partitions) {
            try await people.publish(
                [(own(partition), name("Own \(partition)")), (shared, name("Shared \(partition)"))], to: partition)
        }
    }

    /// The contacts that are found, as `owner/id=name`.
    static func found(in path: String) throws -> [String] {
        let query = try Database.open(path: path).prepare(
            """
            SELECT CAST(owner || '/' || id || '=' || name AS TEXT), min(partition) FROM contact
            WHERE partition IN contact_served GROUP BY owner, id ORDER BY owner, id
            """)
        var texts: [String] = []
        while try query.step() { texts.append(query.text(0)) }
        return texts
    }

    /// The partitions of which the state has contacts.
    static func stored(in path: String) throws -> Set<Int32> {
        let query = try Database.open(path: path).prepare("SELECT DISTINCT partition FROM contact")
        var partitions: Set<Int32> = []
        while try query.step() { partitions.insert(Int32(truncatingIfNeeded: query.integer(0))) }
        return partitions
    }

    /// An instance that has the state file.
    func instance() throws -> Instance { try Instance(self) }

    final class Instance: Sendable {
        let follower: ContactFollower
        let log = Log()

        init(_ source: PartitionedContacts) throws {
            follower = try ContactFollower(
                source.brokers.properties(), topic: source.topic, of: "cluster", isCoPartitioned: true,
                into: try StateFile(path: source.state, access: .alone), log: log)
        }

        func follow(_ partitions: Set<Int32>) { for partition in partitions { _ = isReady(partition) } }

        func isReady(_ partition: Int32) -> Bool { follower.isReady(TopicPartition("in", partition), for: 0) }

        func release(_ partitions: Set<Int32>) {
            follower.forget(partitions.map { TopicPartition("in", $0) }, for: 0)
        }

        /// Asks for the partitions until their contacts are there.
        func wait(for partitions: Set<Int32>) async throws {
            let end = ContinuousClock.now + .seconds(30)
            while !partitions.allSatisfy({ isReady($0) }) {
                guard end > .now else { throw Overdue(what: "the contacts of \(partitions)", limit: .seconds(30)) }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }
}
