/// An input topic, made once and shared by all of its records.
public final class SourceTopic: Sendable {
    public let name: String
    /// Tells topics apart in derived identifiers; the same in every process.
    let digest: UInt64
    /// The name and a slash.
    let prefix: [UInt8]

    public init(_ name: String) {
        self.name = name
        prefix = Array("\(name)/".utf8)
        // FNV-1a.
        digest = name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

/// Where a record stands in the input.
public struct Source: Sendable {
    public let topic: SourceTopic
    public let partition: Int32
    public let offset: Int64

    public init(topic: SourceTopic, partition: Int32, offset: Int64) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }

    static let nowhere = Source(topic: SourceTopic(""), partition: 0, offset: 0)
}

extension Source: CustomStringConvertible {
    /// As the header `pushmill-source` has it.
    public var description: String { "\(topic.name)/\(partition)/\(offset)" }
}
