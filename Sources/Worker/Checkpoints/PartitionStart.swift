package import Kafka

/// Where a partition that was assigned goes on.
package struct PartitionStart: Sendable, Equatable {
    package let place: TopicPartition
    /// Below zero where nothing was committed: `Position.stored`, or what `auto.offset.reset` makes of it.
    package let offset: Int64
    /// Done before, above the offset.
    package let completed: [Range<Int64>]

    package init(_ place: TopicPartition, offset: Int64, completed: [Range<Int64>] = []) {
        self.place = place
        self.offset = offset
        self.completed = completed
    }
}
