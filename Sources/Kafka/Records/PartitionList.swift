internal import CPushmillRdKafka
internal import Glibc

/// The owner of one `rd_kafka_topic_partition_list_t`.
struct PartitionList: ~Copyable {
    let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    init(_ positions: some Collection<Position>) {
        pointer = rd_kafka_topic_partition_list_new(Int32(clamping: positions.count))
        for position in positions {
            guard
                let element = rd_kafka_topic_partition_list_add(
                    pointer, position.partition.topic, position.partition.partition)
            else { continue }
            element.pointee.offset = position.offset
            Self.setMetadata(position.metadata, of: element)
        }
    }

    init(_ partitions: some Collection<TopicPartition>) {
        self.init(partitions.map { Position($0, offset: Position.none) })
    }

    deinit { rd_kafka_topic_partition_list_destroy(pointer) }

    var results: [PartitionResult] { PartitionResult.all(in: pointer) }

    /// The list frees it with free(3).
    private static func setMetadata(_ metadata: String, of element: UnsafeMutablePointer<rd_kafka_topic_partition_t>) {
        var metadata = metadata
        metadata.withUTF8 { bytes in
            guard let source = bytes.baseAddress, !bytes.isEmpty, let copy = malloc(bytes.count) else { return }
            copy.copyMemory(from: source, byteCount: bytes.count)
            element.pointee.metadata = copy
            element.pointee.metadata_size = bytes.count
        }
    }
}

/// What an operation on a list came to, for one partition of it.
public struct PartitionResult: Sendable {
    public let position: Position
    public let error: KafkaError?

    static func all(in list: UnsafePointer<rd_kafka_topic_partition_list_t>) -> [PartitionResult] {
        UnsafeBufferPointer(start: list.pointee.elems, count: Int(list.pointee.cnt)).map { element in
            let metadata = UnsafeRawBufferPointer(start: element.metadata, count: element.metadata_size)
            return PartitionResult(
                position: Position(
                    TopicPartition(String(cString: element.topic), element.partition), offset: element.offset,
                    metadata: element.metadata == nil ? "" : String(decoding: metadata, as: UTF8.self)),
                error: KafkaError(ifAny: element.err))
        }
    }
}
