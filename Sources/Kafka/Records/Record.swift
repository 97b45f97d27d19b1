internal import CPushmillRdKafka

/// A record lent by librdkafka: its bytes stay where the fetch put them until `destroy()`, which must be called exactly
/// once, on any thread. Held long, it holds the whole fetch response: who keeps a record copies it.
///
/// Unchecked because of its pointers: one thread at a time has a record, since batches hand it on. What is in it came from
/// outside and changes nothing of that; lengths are those that librdkafka has checked against the fetch.
public struct Record: @unchecked Sendable {
    public let topic: UInt32
    public let partition: Int32
    public let offset: Int64
    /// Milliseconds since 1970; -1 for none.
    public let timestamp: Int64
    public let timestampKind: TimestampKind
    /// nil for a null key.
    public let key: UnsafeRawBufferPointer?
    /// nil for a tombstone.
    public let value: UnsafeRawBufferPointer?
    let message: UnsafeMutablePointer<rd_kafka_message_t>

    public var byteCount: Int { (key?.count ?? 0) + (value?.count ?? 0) }

    public func destroy() { rd_kafka_message_destroy(message) }

    /// The headers, still owned by the record; librdkafka parses them on first use. nil for none.
    public var headers: HeaderView? {
        var headers: OpaquePointer?
        guard rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR, let headers else { return nil }
        return HeaderView(headers)
    }

    /// Takes the headers out of the record, so that they can go on without a copy.
    public func detachHeaders() -> Headers {
        var headers: OpaquePointer?
        guard rd_kafka_message_detach_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR, let headers else {
            return Headers()
        }
        return Headers(taking: headers)
    }
}

public enum TimestampKind: UInt8, Sendable {
    case none, create, logAppend
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
        self.message = message
        partition = message.pointee.partition
        offset = message.pointee.offset
        key = message.pointee.key.map { UnsafeRawBufferPointer(start: $0, count: message.pointee.key_len) }
        value = message.pointee.payload.map { UnsafeRawBufferPointer(start: $0, count: message.pointee.len) }
    }
}
