/// What the next checkpoint has to say: counts and positions that go into the file together or not at all. Without I/O;
/// owned by whoever owns the record of completed offsets.
///
/// A partition that was taken away stays in here until the file has it, so that counts never get ahead of positions.
package struct PendingCheckpoint: ~Copyable, Sendable {
    package var counts = SettledCounts()
    private var positions = Positions()
    /// Those of the batch that is being written.
    private var underWay = Positions()

    private typealias Positions = [String: [Int32: PartitionPosition]]

    package init() {}

    /// The position fits the counts as they are settled now.
    package mutating func add(_ position: PartitionPosition) {
        positions[position.topic, default: [:]][position.partition] = position
    }

    /// Newer than what the file says; nil where that is up to date.
    package func position(of topic: String, _ partition: Int32) -> PartitionPosition? {
        positions[topic]?[partition] ?? underWay[topic]?[partition]
    }

    /// The batch ends in `saved` or in `putBack` before the next one is taken.
    package mutating func take() -> CheckpointBatch {
        underWay = positions
        positions = [:]
        return CheckpointBatch(counts: counts.take(), positions: underWay.values.flatMap(\.values))
    }

    /// The file holds the batch, as the checkpoint of this number.
    package mutating func saved(_ batch: consuming CheckpointBatch, in checkpoint: UInt32) {
        batch.counts.saved(in: checkpoint)
        underWay = [:]
    }

    /// The file does not hold it: what has not changed since belongs to the next one.
    package mutating func putBack(_ batch: consuming CheckpointBatch) {
        counts.putBack(batch.counts)
        for (topic, old) in underWay { positions[topic, default: [:]].merge(old) { newer, _ in newer } }
        underWay = [:]
    }
}

/// Counts and positions of one moment.
package struct CheckpointBatch: ~Copyable, Sendable {
    let counts: CountBatch
    package let positions: [PartitionPosition]

    package var isEmpty: Bool { counts.counts.isEmpty && positions.isEmpty }
}
