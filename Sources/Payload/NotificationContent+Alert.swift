/// The texts of the alert, which is a dictionary, or a string that is the body.
extension NotificationContent {
    public var title: String? {
        get { text(.title) }
        set { setText(.title, to: newValue) }
    }

    public var subtitle: String? {
        get { text(.subtitle) }
        set { setText(.subtitle, to: newValue) }
    }

    public var body: String? {
        get { text(.body) }
        set { setText(.body, to: newValue) }
    }

    public func text(_ text: AlertText) -> String? {
        node(of: text).flatMap(document.string)
    }

    /// The text as UTF-8; not copied unless it has escapes.
    @inlinable
    public func withText<R, E: Error>(
        _ text: AlertText, _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R? {
        guard let node = node(of: text) else { return nil }
        return try document.withText(of: node, body)
    }

    /// Sets or removes the text, and removes its loc-key and loc-args, which would otherwise be shown instead.
    public mutating func setText(_ text: AlertText, to value: String?) {
        guard let value else { return removeText(text) }
        put(document.append(value), as: text)
    }

    /// Bytes that are not UTF-8 become U+FFFD.
    public mutating func setText(_ text: AlertText, to value: Span<UInt8>) {
        put(value.withUnsafeBufferPointer { document.append($0) }, as: text)
    }

    public mutating func removeText(_ text: AlertText) {
        guard let alert, let aps else { return }
        if document.kind(of: alert) == .string {
            if text == .body { document.removeMembers(.alert, of: aps) }
            return
        }
        document.removeMembers(text.name, of: alert)
        document.removeMembers(text.keyName, of: alert)
        document.removeMembers(text.argumentsName, of: alert)
    }

    // MARK: - Localization

    public func localizationKey(of text: AlertText) -> String? {
        guard let alert else { return nil }
        return document.member(text.keyName, of: alert).flatMap(document.string)
    }

    /// The array of arguments, to be read through `document`; nil if there is none.
    public func localizationArguments(of text: AlertText) -> JSONNode? {
        guard let alert, let node = argumentsNode(of: text, in: alert) else { return nil }
        return document.kind(of: node) == .array ? node : nil
    }

    // MARK: - Nodes

    @usableFromInline
    package func node(of text: AlertText) -> JSONNode? {
        guard let alert else { return nil }
        return node(of: text, in: alert)
    }

    /// The member that holds the text, or a string alert itself.
    package func node(of text: AlertText, in alert: JSONNode) -> JSONNode? {
        if document.kind(of: alert) == .string { return text == .body ? alert : nil }
        return document.member(text.name, of: alert)
    }

    /// The key of the text's translation; nil if it is empty or no string.
    package func key(of text: AlertText, in alert: JSONNode) -> JSONNode? {
        guard let key = document.member(text.keyName, of: alert), document.hasText(key) else { return nil }
        return key
    }

    /// The member for the arguments, of whatever kind.
    package func argumentsNode(of text: AlertText, in alert: JSONNode) -> JSONNode? {
        document.member(text.argumentsName, of: alert)
    }

    mutating func put(_ value: JSONNode, as text: AlertText) {
        let alert = alert
        if text == .body, let alert, document.kind(of: alert) == .string {
            return document.replace(alert, by: value)
        }
        let dictionary = dictionary(from: alert)
        document.put(
            value, named: text.name, into: dictionary, removing: text.keyName, text.argumentsName)
    }

    /// Turns an alert that is not a dictionary into one; a string becomes its body.
    private mutating func dictionary(from alert: JSONNode?) -> JSONNode {
        guard let alert else {
            let dictionary = document.appendObject()
            putIntoAps(dictionary, named: .alert)
            return dictionary
        }
        let kind = document.kind(of: alert)
        if kind == .object { return alert }
        let body = kind == .string ? document.append(copyOfText: alert) : nil
        document.replace(alert, by: document.appendObject())
        if let body { document.put(body, named: .body, into: alert) }
        return alert
    }
}

/// A text that an alert shows.
public enum AlertText: Sendable, CaseIterable {
    case title, subtitle, body

    /// The member of the alert that holds the text itself.
    public var member: StaticString { name.text }

    var name: MemberName { names.text }
    var keyName: MemberName { names.key }
    var argumentsName: MemberName { names.arguments }

    private var names: (text: MemberName, key: MemberName, arguments: MemberName) {
        switch self {
        case .title: (.title, .titleKey, .titleArguments)
        case .subtitle: (.subtitle, .subtitleKey, .subtitleArguments)
        case .body: (.body, .bodyKey, .bodyArguments)
        }
    }
}
