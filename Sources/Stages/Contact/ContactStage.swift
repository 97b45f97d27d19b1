import PushmillLocalization
package import PushmillPayload

/// Puts the name under which the recipient knows somebody in the place of `{contact:ID}`, and of whole fields that are
/// identifiers. A class, so that its parts are not counted anew with every copy. Immediate: a contact in a local file is
/// microseconds away.
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

/// The texts of an alert, and the arguments left for the device, in which there is a placeholder.
struct ContactPlaces: OptionSet {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    static func text(_ text: AlertText) -> ContactPlaces { ContactPlaces(rawValue: 1 << number(of: text)) }

    static func arguments(of text: AlertText) -> ContactPlaces { ContactPlaces(rawValue: 8 << number(of: text)) }

    private static func number(of text: AlertText) -> UInt8 {
        switch text {
        case .title: 0
        case .subtitle: 1
        case .body: 2
        }
    }
}

extension NotificationContent {
    /// Looks at every text once: most messages have no placeholder at all.
    var contactPlaces: ContactPlaces {
        guard let alert else { return [] }
        if hasPlaceholder(alert) { return .text(.body) }
        var places: ContactPlaces = []
        document.forEachChild(of: alert) { member in
            if hasPlaceholder(member) {
                if let text = AlertText.allCases.first(where: { document.isNamed($0.member, member) }) {
                    places.insert(.text(text))
                }
            } else if hasPlaceholderInside(member) {
                if let text = AlertText.allCases.first(where: { document.isNamed($0.argumentsMember, member) }) {
                    places.insert(.arguments(of: text))
                }
            }
        }
        return places
    }

    func hasPlaceholder(_ node: JSONNode) -> Bool {
        document.withText(of: node) { ContactPlaceholders.areIn($0) } ?? false
    }

    private func hasPlaceholderInside(_ list: JSONNode) -> Bool {
        guard document.kind(of: list) == .array else { return false }
        var isFound = false
        document.forEachChild(of: list) { if hasPlaceholder($0) { isFound = true } }
        return isFound
    }
}

extension ContactStage {
    package static let entry = StageEntry("contact") { settings in
        var options = Options()
        let source = settings.value("source", .contactSource, default: .state)
        checkPartitions(of: source, &settings)
        options.owner = settings.list("owner-from", .source, default: options.owner)
        options.fields = settings.list("replace", .pointer)
        options.unknown = settings.value("unknown", .name, default: options.unknown)
        options.isolates = settings.value("isolate", .bool, default: options.isolates)
        options.includesDecrypted = settings.value("in-decrypted", .bool, default: options.includesDecrypted)
        return { [options] resources in
            ContactStage(options, book: try resources.contacts(source), texts: resources.texts)
        }
    }

    /// Who follows the contacts is told by the setting; the stage looks them up all the same.
    private static func checkPartitions(of source: ContactSource, _ settings: inout SettingReader) {
        guard settings.value("co-partitioned", .bool, default: false) else { return }
        if case .topic = source { return }
        settings.report("co-partitioned", "only a topic has partitions, and the source is \(source)")
    }
}
