package import Kafka
package import Stores

/// What must agree with the offsets when the process ends at any moment. Called on the committer's thread, which may
/// block.
package protocol Checkpoint: Sendable {
    /// The counts that are part of it, if any.
    var counts: CountKeeper? { get }

    /// Partitions were assigned: what the group has committed for them, in their order, and where to go on. `unsaved`
    /// tells what the next `save` will have for a partition, `end` the offset that its log will give next.
    func restore(
        _ committed: [Position], unsaved: (TopicPartition) -> PartitionPosition?,
        end: (TopicPartition) throws -> Int64
    ) throws -> [PartitionStart]

    /// Called before the group's commit of the same positions, with the counts that go with them. When it throws nothing
    /// is committed; it is called again. Gives the number of the checkpoint.
    func save(_ batch: borrowing CheckpointBatch) throws -> UInt32
}
