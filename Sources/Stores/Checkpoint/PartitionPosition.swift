/// How far one partition is done.
package struct PartitionPosition: Sendable, Equatable {
    package let topic: String
    package let partition: Int32
    /// The lowest offset that is not done.
    package let next: Int64
    /// What is done beyond it, in the words of whoever wrote it.
    package let metadata: String

    package init(topic: String, partition: Int32, next: Int64, metadata: String) {
        self.topic = topic
        self.partition = partition
        self.next = next
        self.metadata = metadata
    }
}
