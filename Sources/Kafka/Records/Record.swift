internal import CPushmillRdKafka
internal import Glibc

/// A record lent by librdkafka: its bytes stay where the fetch put them until `destroy()`, which must be called exactly
/// once, on any thread. It keeps the whole fetch response in memory: a record that is kept long is made `owned`.
///
/// `Sendable` is unchecked because of the pointers. One thread at a time has a record, lent or owned, because batches
/// hand it on. Its content comes from outside and changes nothing of that: librdkafka has checked the lengths against
/// the fetch.
public struct Record: @unchecked Sendable {
    /// The topic's number in a group's consumer. Other readers know their topic.
    public let topic: UInt32
    public let partition: Int32
    public let offset: Int64
    /// Milliseconds since 1970; -1 for none.
    public let timestamp: Int64
    public let timestampKind: TimestampKind
    /// nil for a null key.
    public private(set) var key: UnsafeRawBufferPointer?
    /// nil for a tombstone.
    public private(set) var value: UnsafeRawBufferPointer?
    private var bytes: Bytes

    private enum Bytes {
        case lent(UnsafeMutablePointer<rd_kafka_message_t>)
        /// The headers, if there are any, in memory that key and value follow.
        case owned(UnsafeMutablePointer<OpaquePointer?>)
    }

    /// Bytes of a header besides name and value: librdkafka allocates each separately, and a list of them.
    private static var headerSize: Int { 64 }

    /// Memory that the headers take. If they are many and short, most of it is `headerSize` for each.
    package var headerByteCount: Int {
        guard let headers else { return 0 }
        return (0..<headers.count).reduce(0) { count, index in
            let header = headers.entry(index)
            return count + Self.headerSize + (header?.name.count ?? 0) + (header?.value?.count ?? 0)
        }
    }

    public var byteCount: Int { (key?.count ?? 0) + (value?.count ?? 0) }

    public func destroy() {
        switch bytes {
        case .lent(let message): rd_kafka_message_destroy(message)
        case .owned(let memory):
            if let headers = memory.pointee { rd_kafka_headers_destroy(headers) }
            UnsafeMutableRawPointer(memory).deallocate()
        }
    }

    /// The same record in its own memory. Destroys the lent one.
    package func owned() -> Record {
        guard case .lent = bytes else { return self }
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: MemoryLayout<OpaquePointer?>.size + byteCount, alignment: MemoryLayout<OpaquePointer?>.alignment)
        let list = memory.bindMemory(to: OpaquePointer?.self, capacity: 1)
        list.initialize(to: headers.map { rd_kafka_headers_copy($0.pointer) })
        var free = memory + MemoryLayout<OpaquePointer?>.size
        func copy(_ bytes: UnsafeRawBufferPointer?) -> UnsafeRawBufferPointer? {
            guard let bytes else { return nil }
            if let start = bytes.baseAddress { free.copyMemory(from: start, byteCount: bytes.count) }
            defer { free += bytes.count }
            return UnsafeRawBufferPointer(start: free, count: bytes.count)
        }
        var record = self
        record.key = copy(key)
        record.value = copy(value)
        record.bytes = .owned(list)
        destroy()
        return record
    }

    /// The headers, still owned by the record; librdkafka parses them on first use. nil for none.
    public var headers: HeaderView? {
        var headers: OpaquePointer?
        switch bytes {
        case .lent(let message): rd_kafka_message_headers(message, &headers)
        case .owned(let list): headers = list.pointee
        }
        return headers.map { HeaderView($0) }
    }

    /// Takes the headers out of the record, without a copy if it is lent. librdkafka parses them again if `headers` is
    /// used afterwards.
    public func detachHeaders() -> Headers {
        guard case .lent(let message) = bytes else { return self.headers.map { Headers(copying: $0) } ?? Headers() }
        var headers: OpaquePointer?
        rd_kafka_message_detach_headers(message, &headers)
        return Headers(taking: headers)
    }
}

/// A record with bytes of its own.
package final class OwnedRecord: Sendable {
    package let key: [UInt8]?
    package let value: [UInt8]?
    /// Milliseconds since 1970; -1 for a record that the producer returned.
    package let timestamp: Int64
    /// Why it was not stored, if it was published.
    package let error: KafkaError?
    /// Never changes, so any thread may copy it.
    nonisolated(unsafe) private let list: Headers

    package var headers: Headers { list.view.map { Headers(copying: $0) } ?? Headers() }

    package init(
        key: [UInt8]?, value: [UInt8]?, headers: consuming Headers, timestamp: Int64, error: KafkaError? = nil
    ) {
        self.key = key
        self.value = value
        list = headers
        self.timestamp = timestamp
        self.error = error
    }

    /// A record that was not stored. `rd_kafka_message_timestamp` gives no timestamp of a message with an error.
    convenience init(_ message: UnsafePointer<rd_kafka_message_t>, _ error: KafkaError) {
        let (key, value) = (message.pointee.key, message.pointee.payload)
        var found: OpaquePointer?
        rd_kafka_message_headers(message, &found)
        self.init(
            key: key.map { Array(UnsafeRawBufferPointer(start: $0, count: message.pointee.key_len)) },
            value: value.map { Array(UnsafeRawBufferPointer(start: $0, count: message.pointee.len)) },
            headers: found.map { Headers(copying: HeaderView($0)) } ?? Headers(),
            timestamp: -1, error: error)
    }
}

/// The raw values are `kcat`'s names.
public enum TimestampKind: String, Sendable {
    case none = "unknown"
    case create
    case logAppend = "logappend"
}

extension Record {
    init(_ message: UnsafeMutablePointer<rd_kafka_message_t>, topic: UInt32) {
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        timestamp = rd_kafka_message_timestamp(message, &kind)
        timestampKind =
            switch kind {
            case RD_KAFKA_TIMESTAMP_CREATE_TIME: .create
            case RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME: .logAppend
            default: .none
            }
        self.topic = topic
        bytes = .lent(message)
        partition = message.pointee.partition
        offset = message.pointee.offset
        key = message.pointee.key.map { UnsafeRawBufferPointer(start: $0, count: message.pointee.key_len) }
        value = message.pointee.payload.map { UnsafeRawBufferPointer(start: $0, count: message.pointee.len) }
    }
}

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
    /// The offset if nothing was committed.
    public static let none: Int64 = -1001
    public static let beginning: Int64 = -2
    public static let end: Int64 = -1

    public let partition: TopicPartition
    public let offset: Int64
    /// Committed with the offset; empty for none.
    public let metadata: String

    public init(_ partition: TopicPartition, offset: Int64, metadata: String = "") {
        self.partition = partition
        self.offset = offset
        self.metadata = metadata
    }
}

extension TopicPartition {
    /// Where `OutputProducer` and Java clients publish records with this key: murmur2.
    public init(of key: UnsafeRawBufferPointer, in topic: String, partitions: Int) {
        let count = Int32(clamping: max(1, partitions))
        // Only partitioners that look at the topic need its handle.
        self.init(topic, rd_kafka_msg_partitioner_murmur2(nil, key.baseAddress, key.count, count, nil, nil))
    }
}

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

    /// Copies with malloc(3): the list frees the copy with free(3).
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

/// The result of an operation on a list, for one of its partitions.
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
