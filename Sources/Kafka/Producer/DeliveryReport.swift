internal import CPushmillRdKafka

/// What became of one published record.
public struct DeliveryReport {
    /// What `publish` was given.
    public let opaque: UInt64
    /// Where it was stored; negative where the brokers have not said.
    public let offset: Int64
    /// What was refused, taken out of librdkafka: nil when the brokers have acknowledged it.
    public let returned: ReturnedRecord?

    public var error: KafkaError? { returned?.error }
}

/// A record that was not stored, with its bytes, so that it can be sent again or elsewhere.
public final class ReturnedRecord: Sendable {
    public let error: KafkaError
    public let key: [UInt8]?
    public let value: [UInt8]?
    /// Milliseconds since 1970.
    public let timestamp: Int64
    /// Never changed, so that any thread may copy them.
    nonisolated(unsafe) private let list: Headers

    public var headers: Headers { list.view.map { Headers(copying: $0) } ?? Headers() }

    init(_ message: UnsafePointer<rd_kafka_message_t>, _ error: KafkaError) {
        self.error = error
        key = message.pointee.key.map { Array(UnsafeRawBufferPointer(start: $0, count: message.pointee.key_len)) }
        value = message.pointee.payload.map { Array(UnsafeRawBufferPointer(start: $0, count: message.pointee.len)) }
        timestamp = rd_kafka_message_timestamp(message, nil)
        var found: OpaquePointer?
        let code = rd_kafka_message_headers(message, &found)
        if code == RD_KAFKA_RESP_ERR_NO_ERROR, let found {
            list = Headers(copying: HeaderView(found))
        } else {
            list = Headers()
        }
    }
}

/// Delivery reports as the callback leaves them during a poll.
final class DeliveryInbox {
    var reports: [DeliveryReport] = []
}

extension DeliveryReport {
    /// The message is librdkafka's and only read.
    init(_ message: UnsafePointer<rd_kafka_message_t>) {
        self.init(
            opaque: UInt64(UInt(bitPattern: message.pointee._private)), offset: message.pointee.offset,
            returned: KafkaError(ifAny: message.pointee.err).map { ReturnedRecord(message, $0) })
    }
}

/// Called by librdkafka within a poll, once for each record; the message is gone when it returns.
func onDelivery(
    client: OpaquePointer?, message: UnsafePointer<rd_kafka_message_t>?, opaque: UnsafeMutableRawPointer?
) {
    guard let message, let sinks = ClientSinks.from(opaque) else { return }
    sinks.deliveries.reports.append(DeliveryReport(message))
}
