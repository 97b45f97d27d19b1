extension JSONDocument {
    /// A point to which edits can be undone.
    public struct Savepoint: Sendable {
        let reading: UInt64
        let bytes: Int
        let records: Int
        let journal: Int
        /// The number of the last change before the savepoint; 0 if there was none.
        let change: UInt64
    }

    public var isEdited: Bool { storage.journal.count > 0 }

    public func savepoint() -> Savepoint {
        Savepoint(
            reading: storage.reading, bytes: storage.bytes.count, records: storage.records.count,
            journal: storage.journal.count, change: lastChange(of: storage.journal.count))
    }

    /// Whether the savepoint was made for the text read last, and what had been edited by then still is.
    func isOf(_ savepoint: Savepoint) -> Bool {
        savepoint.reading == storage.reading && savepoint.journal <= storage.journal.count
            && savepoint.change == lastChange(of: savepoint.journal)
    }

    private func lastChange(of count: Int) -> UInt64 { count == 0 ? 0 : storage.journal.base[count - 1].number }

    /// Undoes every edit since the savepoint. A savepoint from another `read`, or of edits that were undone, undoes
    /// nothing.
    public mutating func rollback(to savepoint: Savepoint) {
        guard isOf(savepoint) else { return }
        guard storage.records.count > savepoint.records || storage.journal.count > savepoint.journal else { return }
        unshare()
        var last = storage.journal.count
        while last > savepoint.journal {
            last -= 1
            let change = storage.journal.base[last]
            records[Int(change.index)] = change.before
        }
        storage.journal.cut(to: savepoint.journal)
        storage.records.cut(to: savepoint.records)
        storage.bytes.cut(to: savepoint.bytes)
    }

    // MARK: - Edits by pointer
    // Missing objects on the path are made. False, with nothing changed, if a value without members blocks the path,
    // and for the root, which stays.

    /// False also if the bytes are not JSON or would make the document too deep.
    @discardableResult
    public mutating func set(json: Span<UInt8>, at pointer: JSONPointer) -> Bool {
        json.withUnsafeBytes { json in set(at: pointer) { $0.append(json: json, depth: pointer.tokens.count) } }
    }

    /// Removes every occurrence of the member, or the element. False if there is none.
    @discardableResult
    public mutating func remove(_ pointer: JSONPointer) -> Bool {
        guard let last = pointer.tokens.last else { return false }
        var container = root
        for token in pointer.tokens.dropLast() {
            guard let child = child(token, of: container, pointer) else { return false }
            container = child
        }
        let edits = storage.journal.count
        if kind(of: container) == .object {
            pointer.withName(of: last) { removeMembers($0, of: container) }
        } else if let element = child(last, of: container, pointer) {
            remove(element)
        }
        return storage.journal.count > edits
    }

    mutating func set(at pointer: JSONPointer, _ append: (inout JSONDocument) -> JSONNode?) -> Bool {
        let savepoint = savepoint()
        guard !pointer.tokens.isEmpty, let value = append(&self), put(value, at: pointer) else {
            rollback(to: savepoint)
            return false
        }
        return true
    }

    private mutating func put(_ value: JSONNode, at pointer: JSONPointer) -> Bool {
        var parent = root
        for token in pointer.tokens {
            if let child = child(token, of: parent, pointer) {
                parent = child
                continue
            }
            let node = appendObject()
            switch kind(of: parent) {
            case .object:
                pointer.withName(of: token) { insert(node, named: $0, into: parent) }
            case .array where pointer.appends(token) || token.position == childCount(of: parent):
                insert(node, named: nil, into: parent)
            default: return false
            }
            parent = node
        }
        replace(parent, by: value)
        return true
    }
}
