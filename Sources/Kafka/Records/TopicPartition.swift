public struct TopicPartition: Hashable, Sendable, CustomStringConvertible {
    public let topic: String
    public let partition: Int32

    public init(_ topic: String, _ partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    public var description: String { "\(topic)/\(partition)" }
}

/// A place in a partition, as it is committed or assigned: the next offset to read.
public struct Position: Hashable, Sendable {
    /// Where nothing was committed.
    public static let none: Int64 = -1001
    public static let beginning: Int64 = -2
    public static let end: Int64 = -1
    /// Where the group's commit says, else where `auto.offset.reset` says.
    public static let stored: Int64 = -1000

    public let partition: TopicPartition
    public let offset: Int64
    /// What travels with a commit; empty for none.
    public let metadata: String

    public init(_ partition: TopicPartition, offset: Int64, metadata: String = "") {
        self.partition = partition
        self.offset = offset
        self.metadata = metadata
    }
}
