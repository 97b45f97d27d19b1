/// Follows the stages. Called on the thread that has the message, so it has to be quick. Stages are known by their index
/// in the chain.
public protocol ChainObserver: AnyObject, Sendable {
    /// The stages of a message are going to run.
    func stagesWillBegin(_ content: NotificationContent)

    /// A stage of a message has ended, or its turn has passed. `nanoseconds` is 0 where nothing was measured.
    func stageEnded(_ stage: Int, _ result: StageResult, nanoseconds: UInt64, content: NotificationContent)

    /// The stage goes on without its message: the deadline or its budget has come while it ran, or else the message
    /// was given up.
    func stageAbandoned(_ stage: Int, isLate: Bool)

    /// An abandoned stage has ended; its result is dropped. Called on a thread of the pool.
    func abandonedStageEnded(_ stage: Int)
}

extension ChainObserver {
    public func stagesWillBegin(_ content: NotificationContent) {}

    public func stageEnded(_ stage: Int, _ result: StageResult, nanoseconds: UInt64, content: NotificationContent) {}
}
