import Synchronization

/// Texts of the app's catalog in the recipient's language, for stages other than the one that has it.
package final class SharedTexts: Sendable {
    private let source = Mutex<(any LocalizedTexts)?>(nil)

    package init() {}

    func offer(_ texts: any LocalizedTexts) { source.withLock { $0 = texts } }

    /// False where there is no catalog, or no such text in it.
    func withText(
        of key: Span<UInt8>, _ content: NotificationContent, _ context: StageContext, _ body: (Span<UInt8>) -> Void
    ) -> Bool {
        guard let texts = source.withLock({ $0 }) else { return false }
        return texts.withText(of: key, content, context, body)
    }
}

/// A catalog and the way to a message's locale.
protocol LocalizedTexts: Sendable {
    /// Gives the text of a key that takes no arguments; false if there is none.
    func withText(
        of key: Span<UInt8>, _ content: NotificationContent, _ context: StageContext, _ body: (Span<UInt8>) -> Void
    ) -> Bool
}
