import PushmillEngine
import PushmillKafka

extension Scene {
    /// What the group has committed, in the order of the partitions.
    func committed() async throws -> [Position] { try await committed { _ in true } }

    /// Asks until the answer is as awaited.
    func committed(
        within limit: Duration = .seconds(30), when isMet: @escaping @Sendable ([Position]) -> Bool
    ) async throws -> [Position] {
        try await elsewhere { [brokers, group, places] in
            let consumer = try Consumer(brokers.properties([("group.id", group)]), log: { _, _, _ in })
            let end = ContinuousClock.now + limit
            while true {
                let positions = try consumer.committed(places, milliseconds: 10_000).map(\.position)
                if isMet(positions) { return positions }
                guard end > .now else { throw Overdue(what: "a commit, it is \(positions)", limit: limit) }
            }
        }
    }

    /// Commits as an operator's tool does, while no service has joined the group.
    func commit(_ positions: [Position]) async throws {
        try await elsewhere { [brokers, group] in
            let consumer = try Consumer(brokers.properties([("group.id", group)]), log: { _, _, _ in })
            let results = try consumer.commits().commit(positions, milliseconds: 10_000) ?? []
            if let error = results.lazy.compactMap(\.error).first { throw error }
        }
    }
}

extension Position {
    /// How many records the metadata tells done beyond the offset.
    var completedBeyond: Int {
        let metadata = try? OffsetMetadata(decoding: metadata, committedAt: offset)
        return metadata?.completed.reduce(0) { $0 + $1.count } ?? 0
    }
}

extension [Position] {
    /// Records that a restart would not repeat, in topics that begin at 0.
    var doneCount: Int { reduce(0) { $0 + Int(Swift.max(0, $1.offset)) + $1.completedBeyond } }
}
