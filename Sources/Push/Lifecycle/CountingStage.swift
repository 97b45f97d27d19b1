/// A stage whose effect is remembered beyond its message: the badge. Its methods are quick and do not wait; the chain
/// calls `timeWillExpire` of these stages alone for a message that had expired before its turn and is published.
public protocol CountingStage: Stage {
    /// Before the first stage of a chain begins, before `didPass`, and before an expired message's `timeWillExpire`.
    /// What the recipient's count needs is to be in memory afterwards.
    func willBegin(_ content: NotificationContent, context: StageContext)

    /// The message passes as it is: a clearing push resets the count.
    func didPass(_ content: NotificationContent, context: StageContext)
}
