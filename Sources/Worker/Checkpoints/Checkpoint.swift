package import Kafka

/// What must agree with the offsets when the process ends at any moment. Called on the committer's thread, which may
/// block.
package protocol Checkpoint: Sendable {
    /// Partitions were assigned: what the group has committed for them, in their order, and where to go on.
    func restore(_ committed: [PartitionResult]) -> [PartitionStart]

    /// Called before the group's commit of these positions. When it throws nothing is committed; it is called again.
    func write(_ positions: [Position]) throws
}
