/// Follows the stages. Called by whoever has the message, so it has to be quick. Stages are
/// known by their index in the chain.
public protocol ChainObserver: AnyObject, Sendable {
    /// A stage of a message has ended, or its turn has passed. `nanoseconds` is 0 where nothing was measured.
    func stageEnded(_ stage: Int, _ result: StageResult, nanoseconds: UInt64, content: NotificationContent)

    /// The deadline or the stage's budget has come while it ran; it goes on without its message.
    func stageAbandoned(_ stage: Int)

    /// An abandoned stage has ended; its result is dropped.
    func abandonedStageEnded(_ stage: Int)
}

extension ChainObserver {
    public func stageEnded(_ stage: Int, _ result: StageResult, nanoseconds: UInt64, content: NotificationContent) {}
}
