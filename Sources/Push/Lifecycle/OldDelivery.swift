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

/// What a lane's delivery has beside the new engine's.
final class OldDelivery {
    let claim = Claim()
    weak var host: (any DeliveryHost)?
    var hasSuspended = false

    func clear() {
        if hasSuspended {
            claim.forgetTask()
            hasSuspended = false
        }
    }
}

extension Delivery {
    public convenience init(host: any DeliveryHost) {
        self.init()
        self.host = host
    }

    /// Without one nothing is counted, and the caller sees to deadlines on its own.
    public var host: (any DeliveryHost)? {
        get { old?.host }
        set { lane.host = newValue }
    }

    var lane: OldDelivery {
        if let old { return old }
        let new = OldDelivery()
        old = new
        return new
    }

    /// The task in which the delivery has suspended: it is cancelled when the delivery is taken from its stage. Called by
    /// the lane.
    public func suspended(in task: Task<Void, Never>) {
        lane.hasSuspended = true
        lane.claim.setTask(task)
    }

    func takeContent() -> NotificationContent {
        var taken = NotificationContent()
        swap(&taken, &content)
        return taken
    }
}
