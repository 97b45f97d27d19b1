/// The texts of the alert, whether it is a string (then that is the body) or a dictionary.
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

    /// The text as UTF-8, without a copy where it has no escapes.
    @inlinable
    public func withText<R, E: Error>(
        _ text: AlertText, _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R? {
        guard let node = node(of: text) else { return nil }
        return try document.withText(of: node, body)
    }

    /// Sets the text, or removes it, and removes its loc-key and loc-args, which would otherwise be shown in its stead.
    public mutating func setText(_ text: AlertText, to value: String?) {
        guard let value else { return removeText(text) }
        put(document.append(value), as: text)
    }

    /// What is not UTF-8 becomes U+FFFD.
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
        localizationKeyNode(of: text).flatMap(document.string)
    }

    @inlinable
    public func withLocalizationKey<R, E: Error>(
        of text: AlertText, _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R? {
        guard let node = localizationKeyNode(of: text) else { return nil }
        return try document.withText(of: node, body)
    }

    /// The array of arguments, whose elements `document` reads; nil if there is none.
    public func localizationArguments(of text: AlertText) -> JSONNode? {
        guard let alert, let node = document.member(text.argumentsName, of: alert) else { return nil }
        return document.kind(of: node) == .array ? node : nil
    }

    @usableFromInline
    func localizationKeyNode(of text: AlertText) -> JSONNode? {
        guard let alert else { return nil }
        return document.member(text.keyName, of: alert)
    }

    // MARK: - Nodes

    /// The member that holds the text, or a string alert itself.
    @usableFromInline
    package func node(of text: AlertText) -> JSONNode? {
        guard let alert else { return nil }
        if document.kind(of: alert) == .string { return text == .body ? alert : nil }
        return document.member(text.name, of: alert)
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

    /// Makes a dictionary of an alert that is none; a string becomes its body.
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

/// The members of an alert that its texts are made of. Of those with the same name the last one put in counts.
package struct AlertMembers {
    private var nodes = InlineArray<9, JSONNode?>(repeating: nil)

    package init() {}

    package var isEmpty: Bool {
        for place in nodes.indices where nodes[place] != nil { return false }
        return true
    }

    /// Takes a member of an alert if it is one of these.
    package mutating func insert(_ node: JSONNode, of document: JSONDocument) {
        let name = document.records[document.place(of: node)].name
        if name.isOfText { self[name] = node }
    }

    /// Takes an alert that is a string.
    package mutating func insert(body alert: JSONNode) { self[.body] = alert }

    package func text(_ text: AlertText) -> JSONNode? { self[text.name] }
    package func key(of text: AlertText) -> JSONNode? { self[text.keyName] }
    package func arguments(of text: AlertText) -> JSONNode? { self[text.argumentsName] }

    private subscript(name: MemberName) -> JSONNode? {
        get { nodes[Int(name.rawValue - MemberName.title.rawValue)] }
        set { nodes[Int(name.rawValue - MemberName.title.rawValue)] = newValue }
    }
}

extension NotificationContent {
    package var alertMembers: AlertMembers {
        var members = AlertMembers()
        guard let alert else { return members }
        document.forEachChild(of: alert) { members.insert($0, of: document) }
        return members
    }
}
