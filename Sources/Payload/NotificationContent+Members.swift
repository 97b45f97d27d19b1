/// The members of `aps` besides the alert, and any location by pointer.
extension NotificationContent {
    /// The value of `aps.badge`, if it is an integer.
    public var badge: Int? {
        get { apsInteger(.badge) }
        set { setAps(.badge, newValue.map { document.append($0) }) }
    }

    public var category: String? {
        get { apsMember(.category).flatMap(document.string) }
        set { setAps(.category, newValue.map { document.append($0) }) }
    }

    public var threadIdentifier: String? {
        get { apsMember(.threadIdentifier).flatMap(document.string) }
        set { setAps(.threadIdentifier, newValue.map { document.append($0) }) }
    }

    public func apsMember(_ name: StaticString) -> JSONNode? {
        guard let aps else { return nil }
        return document.member(name, of: aps)
    }

    func apsMember(_ name: MemberName) -> JSONNode? {
        guard let aps else { return nil }
        return document.member(name, of: aps)
    }

    // Passing a method to `flatMap` would retain the document.
    func apsInteger(_ name: MemberName) -> Int? {
        guard let node = apsMember(name) else { return nil }
        return document.integer(of: node)
    }

    /// Replaces a value by a text that is known to be UTF-8, and leaves everything else.
    package mutating func replace(_ node: JSONNode, by text: UnsafeBufferPointer<UInt8>) {
        document.replace(node, by: document.append(text, isUTF8: true))
    }

    /// The member `aps.badge`, of whatever kind.
    package var badgeNode: JSONNode? { apsMember(.badge) }

    // MARK: - By pointer
    // A pointer to the alert's title, subtitle or body means that text, even if the alert is a string; setting or
    // removing it is `setText` or `removeText`.

    public func node(at pointer: JSONPointer) -> JSONNode? {
        if let text = pointer.alertText { return node(of: text) }
        return document.node(at: pointer)
    }

    public func kind(at pointer: JSONPointer) -> JSONKind? { node(at: pointer).map(document.kind) }

    public func string(at pointer: JSONPointer) -> String? { node(at: pointer).flatMap(document.string) }

    public func integer(at pointer: JSONPointer) -> Int? { node(at: pointer).flatMap(document.integer) }

    @inlinable
    public func withText<R, E: Error>(
        at pointer: JSONPointer, _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R? {
        guard let node = node(at: pointer) else { return nil }
        return try document.withText(of: node, body)
    }

    /// Missing objects on the path are made. False, with nothing changed, if a value without members blocks the path.
    @discardableResult
    public mutating func set(_ text: String, at pointer: JSONPointer) -> Bool {
        set(text.utf8Span.span, at: pointer)
    }

    @discardableResult
    public mutating func set(_ text: Span<UInt8>, at pointer: JSONPointer) -> Bool { set(text, at: pointer, []) }

    /// False also for a text of the alert.
    @discardableResult
    public mutating func set(_ number: Int, at pointer: JSONPointer) -> Bool {
        pointer.alertText == nil && document.set(at: pointer) { $0.append(number) }
    }

    /// False also if the bytes are not JSON, would make the payload too deep, or are not a string for an alert text.
    @discardableResult
    public mutating func set(json: Span<UInt8>, at pointer: JSONPointer) -> Bool {
        guard let alertText = pointer.alertText else { return document.set(json: json, at: pointer) }
        let bytes = json.withUnsafeBufferPointer { Array($0) }
        guard let value = try? JSONDocument(bytes: bytes), value.kind(of: value.root) == .string else { return false }
        return value.withText(of: value.root) { text in setText(alertText, to: text) } != nil
    }

    /// Removes every occurrence of the member, or the element. False if there is none.
    @discardableResult
    public mutating func remove(_ pointer: JSONPointer) -> Bool {
        guard let alertText = pointer.alertText else { return document.remove(pointer) }
        guard node(of: alertText) != nil else { return false }
        removeText(alertText)
        return true
    }

    // MARK: - Nodes

    private mutating func setAps(_ name: MemberName, _ value: JSONNode?) {
        if let value {
            putIntoAps(value, named: name)
        } else if let aps {
            document.removeMembers(name, of: aps)
        }
    }

    mutating func putIntoAps(_ value: JSONNode, named name: MemberName) {
        let aps: JSONNode
        if let existing = self.aps {
            aps = existing
        } else {
            aps = document.appendObject()
            document.put(aps, named: .aps, into: document.root)
        }
        document.put(value, named: name, into: aps)
    }
}

/// Marks the values that came from a ciphertext: their sender has worded them, and no backend has seen them.
extension NotificationContent {
    /// True for a marked value and for a part of one. A value that replaces it is not marked.
    public func isDecrypted(_ node: JSONNode) -> Bool {
        var value = document.value(of: node)
        while value != 0 {
            if document.records[value].flags.contains(.decrypted) { return true }
            value = Int(document.records[value].parent)
        }
        return false
    }

    public mutating func markDecrypted(_ node: JSONNode) { document.mark(node, .decrypted) }

    /// Sets a text, as `set(_:at:)` does, and marks it as decrypted.
    @discardableResult
    public mutating func setDecrypted(_ text: Span<UInt8>, at pointer: JSONPointer) -> Bool {
        set(text, at: pointer, .decrypted)
    }

    /// Sets a text that is known to be UTF-8, and marks it as decrypted.
    package mutating func setDecrypted(_ text: AlertText, to value: Span<UInt8>) {
        set(text, to: value, isUTF8: true, .decrypted)
    }

    /// Sets a text built from the app's own words, which is known to be UTF-8, and marks it as localized; it may contain
    /// a decrypted text.
    package mutating func setLocalized(_ text: AlertText, to value: Span<UInt8>, isDecrypted: Bool) {
        set(text, to: value, isUTF8: true, isDecrypted ? [.localized, .decrypted] : .localized)
    }

    /// Replaces a text by one made from it, and keeps its marks.
    package mutating func amendText(_ text: AlertText, to value: Span<UInt8>) {
        guard let node = node(of: text) else { return setText(text, to: value) }
        var origin: JSONRecord.Flags = []
        if isDecrypted(node) { origin.insert(.decrypted) }
        if isLocalized(node) { origin.insert(.localized) }
        set(text, to: value, origin)
    }

    /// True for a text set by `setLocalized` and changed since then by nothing but `amendText`.
    package func isLocalized(_ node: JSONNode) -> Bool {
        document.records[document.value(of: node)].flags.contains(.localized)
    }

    private mutating func set(_ text: Span<UInt8>, at pointer: JSONPointer, _ origin: JSONRecord.Flags) -> Bool {
        guard let alertText = pointer.alertText else {
            return text.withUnsafeBufferPointer { text in
                document.set(at: pointer) { document in
                    let node = document.append(text)
                    document.markAppended(node, origin)
                    return node
                }
            }
        }
        set(alertText, to: text, origin)
        return true
    }

    /// Sets a text and marks its origin.
    private mutating func set(
        _ text: AlertText, to value: Span<UInt8>, isUTF8: Bool = false, _ origin: JSONRecord.Flags
    ) {
        let node = value.withUnsafeBufferPointer { document.append($0, isUTF8: isUTF8) }
        document.markAppended(node, origin)
        put(node, as: text)
    }

    /// Sets the top-level member of the same name to a member of another document, spelled as it is there, and marks
    /// it. False if it would make the payload too deep.
    @discardableResult
    package mutating func copyDecrypted(_ member: JSONNode, of other: JSONDocument) -> Bool {
        let savepoint = savepoint()
        guard let value = document.append(copyOf: member, in: other) else {
            rollback(to: savepoint)
            return false
        }
        document.markAppended(value, .decrypted)
        _ = other.withName(of: member) { name in
            name.withUnsafeBufferPointer { name in
                if let member = document.member(name, of: document.root) {
                    document.replace(member, by: value)
                } else {
                    document.insert(value, named: name, into: document.root)
                }
            }
        }
        return true
    }
}
