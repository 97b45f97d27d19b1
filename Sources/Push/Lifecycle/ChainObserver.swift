/// Follows the stages. Called by whoever has the message, so it has to be quick. Stages are
/// known by their index in the chain.
public protocol ChainObserver: AnyObject, Sendable {
    /// A stage of a message has ended, or its turn has passed. `nanoseconds` is 0 where nothing was measured.
    func stageEnded(_ stage: Int, _ result: StageResult, nanoseconds: UInt64, content: NotificationContent)

    /// The stage goes on without its message: the deadline or its budget has come while it ran, or else the message
    /// was given up.
    func stageAbandoned(_ stage: Int, isLate: Bool)

    /// An abandoned stage has ended; its result is dropped.
    func abandonedStageEnded(_ stage: Int)
}

extension ChainObserver {
    public func stageEnded(_ stage: Int, _ result: StageResult, nanoseconds: UInt64, content: NotificationContent) {}
}
