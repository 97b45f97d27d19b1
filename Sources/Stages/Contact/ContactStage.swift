import PushmillLocalization
package import PushmillPayload

/// Replaces `{contact:ID}`, and whole fields that are identifiers, with the name under which the recipient knows the
/// contact. A class, because each copy of a struct would retain its parts. Immediate, because a contact in a local file
/// is microseconds away.
package final class ContactStage: ImmediateStage {
    package struct Options: Sendable {
        /// The first source that has a text names the owner of the contacts.
        package var owner: [ValueSource] = [.recipient]
        /// Fields whose whole value is an identifier.
        package var fields: [JSONPointer] = []
        /// Shown if there is no name: a key of the catalog, or the text itself.
        package var unknown = "Someone"
        package var isolates = true
        /// Whether names are put into decrypted texts too.
        package var includesDecrypted = true

        package init() {}
    }

    package let name = "contact"
    package let results: [StageResult] = [.failed("unavailable"), .word("miss")]
    let options: Options
    private let unknown: [UInt8]
    private let unknownDirection: TextDirection
    let book: any ContactBook

    package init(_ options: Options, book: any ContactBook) {
        var options = options
        options.fields = options.fields.distinct
        self.options = options
        self.book = book
        let unknown = Array(options.unknown.utf8)
        self.unknown = unknown
        unknownDirection = TextDirection(of: unknown.span)
    }

    /// Begins to prefetch what a message that comes soon needs, if its record alone names the owner of the contacts.
    func prepare(recipient: () -> UnsafeRawBufferPointer?, key: UnsafeRawBufferPointer?, isNear: Bool) {
        let owner: UnsafeRawBufferPointer? =
            switch options.owner.first {
            case .recipient: recipient()
            case .key: key
            default: nil
            }
        if let owner { book.prepare(owner.bytes, isNear: isNear) }
    }

    package func didReceive(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        nameContacts(in: &content, context, asks: true)
    }

    package func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        _ = nameContacts(in: &content, context, asks: false)
        return .expired
    }

    private func nameContacts(
        in content: inout NotificationContent, _ context: StageContext, asks: Bool
    ) -> StageResult {
        for index in options.owner.indices {
            if let bytes = options.owner[index].bytes(context) {
                return bytes.withMemoryRebound(to: UInt8.self) {
                    nameAll(in: &content, context, ContactNaming(owner: $0, asks: asks))
                }
            }
            guard let count = options.owner[index].withBytes(content, context, \.count) else { continue }
            // Copied, because it is part of the content, which changes.
            return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { memory in
                _ = options.owner[index].withBytes(content, context) { memory.initialize(from: $0) }
                let owner = UnsafeBufferPointer(memory)
                return nameAll(in: &content, context, ContactNaming(owner: owner, asks: asks))
            }
        }
        let nobody = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        return nameAll(in: &content, context, ContactNaming(owner: nobody, asks: asks))
    }

    private func nameAll(
        in content: inout NotificationContent, _ context: StageContext, _ naming: consuming ContactNaming
    ) -> StageResult {
        for field in options.fields { nameField(field, in: &content, context, &naming) }
        if let alert = content.alert { nameAlert(alert, in: &content, context, &naming) }
        if let failure = naming.failure { context.log(.error, failure.description) }
        return naming.result
    }

    private func nameAlert(
        _ alert: JSONNode, in content: inout NotificationContent, _ context: StageContext,
        _ naming: inout ContactNaming
    ) {
        // Not for each of `allCases`, an array that is made anew.
        func name(_ text: AlertText) {
            if let node = content.node(of: text, in: alert) { nameText(node, in: &content, context, &naming) }
            // Arguments that `LocalizeStage` has left for the device.
            if let list = content.argumentsNode(of: text, in: alert), content.hasPlaceholderInside(list) {
                for node in content.document.children(of: list) { nameText(node, in: &content, context, &naming) }
            }
        }
        name(.title)
        name(.subtitle)
        name(.body)
    }

    private func nameText(
        _ node: JSONNode, in content: inout NotificationContent, _ context: StageContext,
        _ naming: inout ContactNaming
    ) {
        // A field already has its name, which is not searched.
        guard isIncluded(node, content), content.hasPlaceholder(node),
            !options.fields.contains(where: { content.node(at: $0) == node })
        else { return }
        rewrite(node, .placeholders, in: &content, context, &naming)
    }

    private func isIncluded(_ node: JSONNode, _ content: NotificationContent) -> Bool {
        options.includesDecrypted || !content.isDecrypted(node)
    }

    private func nameField(
        _ field: JSONPointer, in content: inout NotificationContent, _ context: StageContext,
        _ naming: inout ContactNaming
    ) {
        guard let node = content.node(at: field), isIncluded(node, content) else { return }
        let hasPlaceholder = content.hasPlaceholder(node)
        // The app's own words are not an identifier.
        guard hasPlaceholder || !content.isLocalized(node) else { return }
        // The sender may have put a text there as well.
        let identifier: ContactNaming.Text = content.isDecrypted(node) ? .identifierOrText : .identifier
        rewrite(node, hasPlaceholder ? .placeholders : identifier, in: &content, context, &naming)
    }

    private func rewrite(
        _ node: JSONNode, _ kind: ContactNaming.Text, in content: inout NotificationContent, _ context: StageContext,
        _ naming: inout ContactNaming
    ) {
        guard content.document.hasText(node) else { return }
        func isWritten(within capacity: Int) -> Bool {
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { memory in
                var output = FormatOutput(memory)
                appendText(of: node, kind, content, context, &naming, to: &output)
                if output.isFull, capacity < Self.longest { return false }
                content.replace(node, by: output.text)
                return true
            }
        }
        // The first attempt uses the stack.
        if !isWritten(within: 1 << 10) { _ = isWritten(within: Self.longest) }
    }

    /// The most bytes kept of a text, more than is ever published: a sender may put thousands of names in one.
    private static let longest = 1 << 14

    /// Passes `body` the text shown for an unknown contact.
    func withUnknown(
        _ content: NotificationContent, _ context: StageContext, _ body: (Span<UInt8>, TextDirection) -> Void
    ) {
        let unknown = unknown
        let isTranslated = context.withText(of: unknown.span, for: content) { body($0, TextDirection(of: $0)) }
        if !isTranslated { body(unknown.span, unknownDirection) }
    }
}

extension [JSONPointer] {
    /// Each field once: a name that was put there is not an identifier. An alert that is a string is the body too.
    fileprivate var distinct: [JSONPointer] {
        let hasBody = contains { $0.alertText == .body }
        var distinct: [JSONPointer] = []
        for field in self where !distinct.contains(field) && !(hasBody && field.isAlert) { distinct.append(field) }
        return distinct
    }
}

extension NotificationContent {
    func hasPlaceholder(_ node: JSONNode) -> Bool {
        document.withText(of: node) { ContactPlaceholders.areIn($0) } ?? false
    }

    func hasPlaceholderInside(_ list: JSONNode) -> Bool {
        guard document.kind(of: list) == .array else { return false }
        var isFound = false
        document.forEachChild(of: list) { if hasPlaceholder($0) { isFound = true } }
        return isFound
    }
}

extension ContactStage {
    package static let entry = StageEntry("contact", neverWaits: true) { settings in
        var options = Options()
        let source = settings.value("source", .contactSource, default: .state)
        settings.contactSource = source
        settings.hasCoPartitionedContacts = isCoPartitioned(source, &settings)
        options.owner = settings.list("owner-from", .source, default: options.owner)
        options.fields = settings.list("replace", .pointer)
        options.unknown = settings.value("unknown", .name, default: options.unknown)
        options.isolates = settings.value("isolate", .bool, default: options.isolates)
        options.includesDecrypted = settings.value("in-decrypted", .bool, default: options.includesDecrypted)
        return { [options] resources in
            ContactStage(options, book: try resources.contacts(source))
        }
    }

    /// The setting is for the follower of the contacts topic; the stage looks contacts up the same way.
    private static func isCoPartitioned(_ source: ContactSource, _ settings: inout SettingReader) -> Bool {
        guard settings.value("co-partitioned", .bool, default: false) else { return false }
        if case .topic = source { return true }
        settings.report("co-partitioned", "only a topic source has partitions; the source is \(source)")
        return false
    }
}
