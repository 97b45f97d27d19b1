/// Puts the name under which the recipient knows somebody in the place of `{contact:ID}`, and of whole fields that are
/// identifiers. A class, so that its parts are not counted anew with every copy. Immediate: a contact in a local file is microseconds away.
package final class ContactStage: ImmediateStage {
    package struct Options: Sendable {
        /// The first that has a text says whose contacts they are.
        package var owner: [ValueSource] = [.recipient]
        /// Fields whose whole value is an identifier.
        package var fields: [JSONPointer] = []
        /// Shown where there is no name: a key of the catalog, or the text itself.
        package var unknown = "Someone"
        package var isolates = true
        /// Whether what came out of a ciphertext is looked at too.
        package var includesDecrypted = true

        package init() {}
    }

    package let name = "contact"
    package let results: [StageResult] = [.failed("unavailable"), .word("miss")]
    private let options: Options
    private let unknown: [UInt8]
    private let unknownDirection: TextDirection
    private let book: any ContactBook
    private let texts: SharedTexts

    package init(_ options: Options, book: any ContactBook, texts: SharedTexts) {
        self.options = options
        self.book = book
        self.texts = texts
        let unknown = Array(options.unknown.utf8)
        self.unknown = unknown
        unknownDirection = TextDirection(of: unknown.span)
    }

    package func didReceive(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        name(in: &content, context, by: book)
    }

    package func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        _ = name(in: &content, context, by: nil)
        return .expired
    }

    private func name(
        in content: inout NotificationContent, _ context: StageContext, by book: (any ContactBook)?
    ) -> StageResult {
        let places = content.contactPlaces
        if places.isEmpty, options.fields.isEmpty { return .skipped }
        return withOwner(&content, context) { content, owner in
            var naming = ContactNaming(book, owner: owner, isolates: options.isolates)
            for field in options.fields { name(field, in: &content, context, &naming) }
            for text in AlertText.allCases {
                if places.contains(.text(text)) { name(text, in: &content, context, &naming) }
                if places.contains(.arguments(of: text)) { name(argumentsOf: text, in: &content, context, &naming) }
            }
            if let failure = naming.failure { context.log(.error, failure.description) }
            return naming.result
        }
    }

    private func name(
        _ field: JSONPointer, in content: inout NotificationContent, _ context: StageContext,
        _ naming: inout ContactNaming
    ) {
        guard let node = content.node(at: field) else { return }
        if content.hasPlaceholder(node) {
            rewrite(node, in: &content, context) { naming.append($0, to: &$1, orElse: $2) }
        } else if content.isLocalized(node) {
            // The app's own words identify nobody.
        } else if content.isDecrypted(node) {
            // Who encrypted may have put a text there as well.
            rewrite(node, in: &content, context) { text, output, _ in naming.append(nameIfKnown: text, to: &output) }
        } else {
            rewrite(node, in: &content, context) { naming.append(nameOf: $0, to: &$1, orElse: $2) }
        }
    }

    private func name(
        _ text: AlertText, in content: inout NotificationContent, _ context: StageContext,
        _ naming: inout ContactNaming
    ) {
        // A field has its name by now, which is not looked at again.
        guard let node = content.node(of: text), content.hasPlaceholder(node),
            !options.fields.contains(where: { content.node(at: $0) == node })
        else { return }
        rewrite(node, in: &content, context) { naming.append($0, to: &$1, orElse: $2) }
    }

    /// What localize has left for the device.
    private func name(
        argumentsOf text: AlertText, in content: inout NotificationContent, _ context: StageContext,
        _ naming: inout ContactNaming
    ) {
        guard let arguments = content.localizationArguments(of: text) else { return }
        for node in content.document.children(of: arguments) where content.hasPlaceholder(node) {
            rewrite(node, in: &content, context) { naming.append($0, to: &$1, orElse: $2) }
        }
    }

    /// Puts another text in the place of one, if that may be looked at.
    private func rewrite(
        _ node: JSONNode, in content: inout NotificationContent, _ context: StageContext,
        _ body: (UnsafeBufferPointer<UInt8>, inout FormatOutput, (ContactNaming.Show) -> Void) -> Void
    ) {
        guard options.includesDecrypted || !content.isDecrypted(node), content.document.hasText(node) else { return }
        // The first attempt is on the stack. Beyond the last no payload is that long.
        var capacity = 1 << 10
        while capacity <= 1 << 20 {
            let isWritten = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { memory in
                var output = FormatOutput(memory)
                _ = content.document.withText(of: node) { text in
                    text.withUnsafeBufferPointer { text in
                        body(text, &output) { show in showUnknown(content, context, show) }
                    }
                }
                if output.isFull { return false }
                content.replace(node, by: output.text)
                return true
            }
            if isWritten { return }
            capacity <<= 5
        }
    }

    private func showUnknown(_ content: NotificationContent, _ context: StageContext, _ show: ContactNaming.Show) {
        let unknown = unknown
        let isTranslated = texts.withText(of: unknown.span, content, context) { show($0, TextDirection(of: $0)) }
        if !isTranslated { show(unknown.span, unknownDirection) }
    }

    /// Where the owner is part of the content, it is copied before that is changed.
    private func withOwner<R>(
        _ content: inout NotificationContent, _ context: StageContext,
        _ body: (inout NotificationContent, UnsafeBufferPointer<UInt8>) -> R
    ) -> R {
        for source in options.owner {
            if let bytes = source.bytes(context) {
                return bytes.withMemoryRebound(to: UInt8.self) { body(&content, $0) }
            }
            guard let count = source.withBytes(content, context, \.count) else { continue }
            return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { memory in
                _ = source.withBytes(content, context) { memory.initialize(from: $0) }
                return body(&content, UnsafeBufferPointer(memory))
            }
        }
        return body(&content, UnsafeBufferPointer(start: nil, count: 0))
    }
}
