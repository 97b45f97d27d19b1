/// One message on its way through the chain; reused for the next when its verdict has been carried out.
///
/// Unchecked because ownership moves at run time: the lane has it, except while a stage that may suspend runs. Then it
/// is his who gets the claim, which a mutex gives away once: the stage that returns in time, the lane's timer, or
/// another thread when the lane's is stuck. A loser touches nothing but the claim.
public final class Delivery: @unchecked Sendable {
    public private(set) var record = InputRecord()
    /// What the chain has made of the payload: the best attempt.
    public internal(set) var content = NotificationContent()
    /// What the last verdict publishes.
    public internal(set) var output = OutputRecord()
    /// How the stages ended, in the order of the chain.
    public internal(set) var results: [StageResult] = []
    /// When the message leaves at the latest.
    public internal(set) var deadline = Instant.never
    /// The deadline, or the end of the running stage's budget if that is earlier.
    public internal(set) var nextWakeUp = Instant.never

    weak var host: (any DeliveryHost)?

    public init(host: (any DeliveryHost)?) { self.host = host }

    /// Makes the delivery ready for another message; `record` is to be filled next.
    public func clear() {}

    /// The task in which the delivery has suspended; it is cancelled when the deadline takes the message from it.
    public func suspended(in task: Task<Void, Never>) {}
}
