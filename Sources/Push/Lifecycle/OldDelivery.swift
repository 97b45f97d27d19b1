/// What a delivery asks of the lane that carries it. Called by whoever has the delivery.
public protocol DeliveryHost: AnyObject, Sendable {
    /// The count of the record's recipient in the app of its `apns-topic` before this message. Asked in `Chain.begin`, at
    /// most once each time, for messages that may change it. Nil if it cannot be read now: `begin` is to be repeated.
    func count(_ delivery: Delivery) -> Int32?

    /// A stage that may suspend, or block this thread, is about to begin. The record's bytes have been copied, so that
    /// the lender may have them back. From now on, at `delivery.nextWakeUp`, the lane calls `Chain.timer`; and if this
    /// thread is stuck at `delivery.deadline`, another one calls `Chain.expireFromOutside`.
    func willWait(_ delivery: Delivery)
}
