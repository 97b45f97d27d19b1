import PushmillEngine
import PushmillKafka

extension Scene {
    /// What the group has committed, in the order of the partitions.
    func committed() async throws -> [Position] { try await committed { _ in true } }

    /// Asks until the answer meets the condition.
    func committed(
        within limit: Duration = .seconds(30), when isMet: @escaping @Sendable ([Position]) -> Bool
    ) async throws -> [Position] {
        try await elsewhere { [brokers, group, inputPartitions] in
            let outsider = try Outsider(brokers, group: group)
            let end = ContinuousClock.now + limit
            while true {
                let positions = try outsider.committed(inputPartitions)
                if isMet(positions) { return positions }
                guard end > .now else { throw Overdue(what: "a commit, it is \(positions)", limit: limit) }
            }
        }
    }

    /// Commits as an operator's tool does, while no service has joined the group.
    func commit(_ positions: [Position]) async throws {
        try await elsewhere { [brokers, group] in
            try Outsider(brokers, group: group).commit(positions)
        }
    }
}

/// Asks the coordinator about a group that it never joins.
private final class Outsider {
    private let signal = WakeSignal()
    private let consumer: GroupConsumer

    init(_ brokers: Brokers, group: String) throws {
        consumer = try GroupConsumer(brokers.properties([("group.id", group)]), signal: signal, log: { _, _, _ in })
    }

    /// In the order of the partitions.
    func committed(_ partitions: [TopicPartition]) throws -> [Position] {
        consumer.askCommitted(partitions)
        var known: [TopicPartition: Position] = [:]
        try wait(for: "what is committed") { event in
            if case .committed(let positions) = event {
                for position in positions { known[position.partition] = position }
            }
            return known.count == partitions.count
        }
        return partitions.compactMap { known[$0] }
    }

    func commit(_ positions: [Position]) throws {
        consumer.commit(positions, number: 1)
        var answer = CommitAnswer.accepted
        try wait(for: "the answer to a commit") { event in
            guard case .commitEnded(_, let ended) = event else { return false }
            answer = ended
            return true
        }
        if answer != .accepted { throw KafkaError("a commit of no member's: \(answer)") }
    }

    private func wait(for what: String, _ isMet: (ConsumerEvent) -> Bool) throws {
        let limit = Duration.seconds(30)
        let end = ContinuousClock.now + limit
        var events: [ConsumerEvent] = []
        while true {
            consumer.wait(milliseconds: 100, records: false)
            consumer.takeEvents(into: &events)
            for event in events where isMet(event) { return }
            events.removeAll()
            guard .now < end else { throw Overdue(what: what, limit: limit) }
        }
    }
}

extension Position {
    /// How many records beyond the offset the metadata reports as done.
    var completedBeyond: Int {
        let metadata = try? OffsetMetadata(decoding: metadata, committedAt: offset)
        return metadata?.completed.reduce(0) { $0 + $1.count } ?? 0
    }
}

extension [Position] {
    /// Records that a restart would not repeat, in topics that begin at 0.
    var doneCount: Int { reduce(0) { $0 + Int(Swift.max(0, $1.offset)) + $1.completedBeyond } }
}
