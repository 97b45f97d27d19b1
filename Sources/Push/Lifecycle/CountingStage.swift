/// The stage that keeps a count for each recipient and app. It reads the count before the message in its context, and
/// leaves what the message does to it in `NotificationContent.badgeOperation`, which is carried out once the content is
/// published. Its edits need no I/O, so `timeWillExpire` counts as `didReceive` does; the chain calls that one alone for
/// a message that had expired before its turn.
public protocol CountingStage: Stage {
    /// A clearing push, of badge 0 and without an alert, passes untouched. Tells the operation and what to report.
    func didPass(clearing content: NotificationContent, context: StageContext) -> (BadgeOperation?, StageResult)
}
