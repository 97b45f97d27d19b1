extension JSONDocument {
    /// A point to which edits can be undone.
    public struct Mark: Sendable {
        @usableFromInline let bytes: Int
        @usableFromInline let records: Int
        @usableFromInline let journal: Int

        @inlinable
        init(bytes: Int, records: Int, journal: Int) {
            self.bytes = bytes
            self.records = records
            self.journal = journal
        }
    }

    @inlinable
    public var isEdited: Bool { !journal.isEmpty }

    @inlinable
    public func mark() -> Mark { Mark(bytes: bytes.count, records: records.count, journal: journal.count) }

    /// Undoes every edit since the mark. The mark must be of this document as last read.
    public mutating func rollback(to mark: Mark) {
        while journal.count > mark.journal, let entry = journal.popLast() {
            records[Int(entry.index)] = entry.before
        }
        records.removeLast(max(0, records.count - mark.records))
        bytes.removeLast(max(0, bytes.count - mark.bytes))
    }

    // MARK: - Edits by pointer
    // Missing objects on the way are made. False, and nothing changed, where a value without members stands in the way,
    // and for the root, which stays.

    @discardableResult
    public mutating func set(_ text: String, at pointer: JSONPointer) -> Bool {
        set(at: pointer) { $0.append(text) }
    }

    @discardableResult
    public mutating func set(_ text: Span<UInt8>, at pointer: JSONPointer) -> Bool {
        text.withUnsafeBufferPointer { text in set(at: pointer) { $0.append(text) } }
    }

    @discardableResult
    public mutating func set(_ number: Int, at pointer: JSONPointer) -> Bool {
        set(at: pointer) { $0.append(number) }
    }

    /// False also if the bytes are not JSON or would make the document too deep.
    @discardableResult
    public mutating func set(json: Span<UInt8>, at pointer: JSONPointer) -> Bool {
        json.withUnsafeBytes { json in set(at: pointer) { $0.append(json: json, depth: pointer.tokens.count) } }
    }

    /// Sets the root's member of the same name to a member of another document, as it is spelled there. False if it would
    /// make the document too deep.
    @discardableResult
    public mutating func copyMember(_ member: JSONNode, of other: JSONDocument) -> Bool {
        let mark = mark()
        guard let value = append(copyOf: member, in: other) else {
            rollback(to: mark)
            return false
        }
        _ = other.withName(of: member) { name in
            name.withUnsafeBufferPointer { put(value, named: $0, into: root) }
        }
        return true
    }

    /// Removes the member, each time that it comes, or the element. False if there is none.
    @discardableResult
    public mutating func remove(_ pointer: JSONPointer) -> Bool {
        guard let last = pointer.tokens.last else { return false }
        var container = root
        for token in pointer.tokens.dropLast() {
            guard let child = child(token, of: container, pointer) else { return false }
            container = child
        }
        let edits = journal.count
        if kind(of: container) == .object {
            pointer.withName(of: last) { removeMembers($0, of: container) }
        } else if let element = child(last, of: container, pointer) {
            remove(element)
        }
        return journal.count > edits
    }

    private mutating func set(
        at pointer: JSONPointer, _ append: (inout JSONDocument) -> JSONNode?
    ) -> Bool {
        let mark = mark()
        guard !pointer.tokens.isEmpty, let value = append(&self), place(value, at: pointer) else {
            rollback(to: mark)
            return false
        }
        return true
    }

    private mutating func place(_ value: JSONNode, at pointer: JSONPointer) -> Bool {
        var parent = root
        for (depth, token) in pointer.tokens.enumerated() {
            let isLast = depth == pointer.tokens.count - 1
            if let child = child(token, of: parent, pointer) {
                parent = child
                continue
            }
            let node = isLast ? value : appendObject()
            switch kind(of: parent) {
            case .object:
                pointer.withName(of: token) { insert(node, named: $0, into: parent) }
            case .array where pointer.appends(token) || token.position == childCount(of: parent):
                insert(node, named: nil, into: parent)
            default: return false
            }
            if isLast { return true }
            parent = node
        }
        replace(parent, by: value)
        return true
    }
}
