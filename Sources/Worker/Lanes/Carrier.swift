import Kafka
import Push
import Stores

/// One message on its way through a lane, with what it must not lose on the way. Used again for later messages.
///
/// Unchecked because, like its delivery, it belongs to one thread at a time: the lane's, but for a message that another
/// thread publishes because the lane's is stuck. What is in a message decides only how long its stages take; who has it
/// is decided by the delivery's claim, which a mutex gives away once.
final class Carrier: DeliveryHost, @unchecked Sendable {
    let delivery = Delivery()
    private unowned let lane: Lane
    @exclusivity(unchecked) private(set) var item: LaneItem?
    /// When its turn came.
    @exclusivity(unchecked) private(set) var turn = Instant.past
    /// The record is still librdkafka's; nil when its bytes were copied or it was published.
    @exclusivity(unchecked) private var lent: Record?
    @exclusivity(unchecked) var timer: DeadlineQueue<Instant, Carrier>.Ticket?
    /// The message has left while a stage of it was still running: this carrier is the stage's now.
    @exclusivity(unchecked) var isOrphan = false
    @exclusivity(unchecked) var isSuspended = false
    /// Later messages of its key wait for it.
    @exclusivity(unchecked) private(set) var holdsKey = false
    /// False while the recipient's count could not be read.
    @exclusivity(unchecked) var hasBegun = true
    /// The recipient's count, which is this message's until it ends.
    @exclusivity(unchecked) var counting: LiveCounts.Slot?

    init(_ lane: Lane) {
        self.lane = lane
        delivery.host = self
    }

    var taken: Instant { item?.taken ?? .never }

    /// Takes a message up.
    func load(_ item: LaneItem, topic: SourceTopic, _ now: Instant, holdsKey: Bool) {
        self.item = item
        turn = now
        self.holdsKey = holdsKey
        lent = item.record
        isOrphan = false
        isSuspended = false
        hasBegun = true
        counting = nil
        timer = nil
        delivery.clear()
        item.record.fill(delivery.record, topic: topic)
    }

    /// The headers as they came, moved from the record where it is still there.
    func takeHeaders() -> Headers {
        if let lent { return lent.detachHeaders() }
        var headers = Headers()
        for header in delivery.record.headers { headers.add(header.name, header.value) }
        return headers
    }

    /// Gives the record back to librdkafka.
    func release() {
        lent?.destroy()
        lent = nil
        item = nil
    }

    func count(_ delivery: Delivery) -> Int32? {
        lane.assumeIsolated { $0.beginCount(for: self) }
        return counting?.count
    }

    /// What the message did to the count. Asked when its verdict stands.
    var change: BadgeChange? {
        guard let operation = delivery.badgeOperation else { return nil }
        return counting?.change(operation)
    }

    func willWait(_ delivery: Delivery) {
        lent?.destroy()
        lent = nil
        lane.assumeIsolated { $0.expectWait(of: self) }
    }
}

extension Record {
    /// Lends the record's bytes to an input record.
    func fill(_ input: InputRecord, topic: SourceTopic) {
        let headers = headers
        input.fill(
            Source(topic: topic, partition: partition, offset: offset), timestamp: timestamp, key: key, value: value,
            headers: headers?.count ?? 0
        ) { index in
            headers?.entry(index).map { RecordHeader(name: $0.name, value: $0.value) }
        }
    }
}
