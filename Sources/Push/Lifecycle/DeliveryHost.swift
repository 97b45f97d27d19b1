/// What a delivery asks of the lane that carries it. Called on the lane's thread.
public protocol DeliveryHost: AnyObject, Sendable {
    /// A stage that may suspend, or block this thread, is about to begin. The record's bytes have been copied, so that
    /// the lender may have them back. From now on, at `delivery.nextWakeUp`, the lane calls `Chain.timer`; and if this
    /// thread is stuck at `delivery.deadline`, any other thread calls `Chain.expireFromOutside`.
    func willWait(_ delivery: Delivery)
}
