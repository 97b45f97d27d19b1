/// Which values came out of a ciphertext: their sender has worded them, and no backend has seen them.
extension NotificationContent {
    /// True for a value that was marked, or is part of one. Whatever replaces such a value is not marked.
    public func isDecrypted(_ node: JSONNode) -> Bool {
        var value = document.value(of: node.index)
        while value != 0 {
            if document.records[value].flags.contains(.decrypted) { return true }
            value = Int(document.records[value].parent)
        }
        return false
    }

    public mutating func markDecrypted(_ node: JSONNode) { document.mark(node, .decrypted) }

    public mutating func markDecrypted(at pointer: JSONPointer) {
        if let node = node(at: pointer) { markDecrypted(node) }
    }

    /// Sets a text, marked. What is not UTF-8 becomes U+FFFD.
    mutating func setDecrypted(_ text: AlertText, to value: Span<UInt8>) { set(text, to: value, .decrypted) }

    /// Sets a text and marks where it came from.
    mutating func set(_ text: AlertText, to value: Span<UInt8>, _ origin: JSONRecord.Flags) {
        let node = value.withUnsafeBufferPointer { document.append($0) }
        document.records[Int(node.index)].flags.formUnion(origin)
        put(node, as: text)
    }

    /// Marks the top-level member of the same name.
    mutating func markDecrypted(_ member: JSONNode, of other: JSONDocument) {
        let own = other.withName(of: member) { name in
            name.withUnsafeBufferPointer { document.member($0, of: document.root) }
        }
        if let own = own ?? nil { markDecrypted(own) }
    }
}
