import Kafka
import Push

/// An output that waits until it can be published. The bytes are its own.
final class HeldOutput: Sendable {
    let topic: ProducerTopic
    let tag: DeliveryTag
    let slot: PartitionSlot
    let key: [UInt8]?
    let value: [UInt8]?
    let timestamp: Int64
    let origin: Position
    /// Never changed, so that any thread may copy them.
    nonisolated(unsafe) private let list: Headers

    var headers: Headers { list.view.map { Headers(copying: $0) } ?? Headers() }

    init(
        to topic: ProducerTopic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: consuming Headers, timestamp: Int64, tag: DeliveryTag, slot: PartitionSlot, origin: Position
    ) {
        self.topic = topic
        self.key = key.map(Array.init)
        self.value = value.map(Array.init)
        list = headers
        self.timestamp = timestamp
        self.tag = tag
        self.slot = slot
        self.origin = origin
    }

    /// One that was not stored.
    init(
        _ returned: ReturnedRecord, to topic: ProducerTopic, timestamp: Int64, _ tag: DeliveryTag,
        _ origin: (position: Position, slot: PartitionSlot)
    ) {
        self.topic = topic
        key = returned.key
        value = returned.value
        list = returned.headers
        self.timestamp = timestamp
        self.tag = tag
        slot = origin.slot
        self.origin = origin.position
    }
}

extension [UInt8]? {
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        guard let self else { return body(nil) }
        return self.withUnsafeBytes { body($0) }
    }
}
