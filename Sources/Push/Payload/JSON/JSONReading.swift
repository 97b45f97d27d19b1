/// What the document says now, edits included. A member that comes more than once counts with its last value.
extension JSONDocument {
    public var root: JSONNode { JSONNode(index: 0) }

    public func kind(of node: JSONNode) -> JSONKind { records[value(of: node.index)].kind }

    public func node(at pointer: JSONPointer) -> JSONNode? {
        var node = root
        for token in pointer.tokens {
            guard let child = child(token, of: node, pointer) else { return nil }
            node = child
        }
        return node
    }

    public func member(_ name: StaticString, of node: JSONNode) -> JSONNode? {
        member(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), of: node)
    }

    public func forEachChild<E: Error>(of node: JSONNode, _ body: (JSONNode) throws(E) -> Void) throws(E) {
        var child = firstChild(of: value(of: node.index))
        while child != 0 {
            try body(JSONNode(index: child))
            child = nextChild(after: child)
        }
    }

    public func childCount(of node: JSONNode) -> Int {
        var count = 0
        forEachChild(of: node) { _ in count += 1 }
        return count
    }

    /// The member's name; nil for an element.
    public func withName<R, E: Error>(of node: JSONNode, _ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R? {
        let record = records[Int(node.index)]
        guard record.nameStart > 0 else { return nil }
        return try withText(
            record.nameStart..<record.nameEnd, isEscaped: record.flags.contains(.escapedName), body)
    }

    /// The text of a string, as UTF-8; nil for any other kind. Without escapes it is the document's own bytes.
    public func withText<R, E: Error>(of node: JSONNode, _ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R? {
        let record = records[value(of: node.index)]
        guard record.kind == .string else { return nil }
        return try withText(record.start + 1..<record.end - 1, isEscaped: record.flags.contains(.escapedText), body)
    }

    public func string(of node: JSONNode) -> String? {
        withText(of: node) { text in text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
    }

    /// True for a string with at least one character.
    public func hasText(_ node: JSONNode) -> Bool {
        let record = records[value(of: node.index)]
        return record.kind == .string && record.end - record.start > 2
    }

    // MARK: - The index

    /// Follows a place to the record of its value.
    func value(of place: UInt32) -> Int {
        let replacement = records[Int(place)].replacement
        return Int(replacement == 0 ? place : replacement)
    }

    func firstChild(of container: Int) -> UInt32 {
        let first = records[container].firstChild
        return first == 0 || !records[Int(first)].flags.contains(.removed) ? first : nextChild(after: first)
    }

    func nextChild(after child: UInt32) -> UInt32 {
        var next = records[Int(child)].next
        while next != 0, records[Int(next)].flags.contains(.removed) { next = records[Int(next)].next }
        return next
    }

    func member(_ name: UnsafeBufferPointer<UInt8>, of node: JSONNode) -> JSONNode? {
        let container = value(of: node.index)
        guard records[container].kind == .object else { return nil }
        var found: UInt32 = 0
        var child = firstChild(of: container)
        while child != 0 {
            if isNamed(name, records[Int(child)]) { found = child }
            child = nextChild(after: child)
        }
        return found == 0 ? nil : JSONNode(index: found)
    }

    func child(_ token: JSONPointer.Token, of node: JSONNode, _ pointer: JSONPointer) -> JSONNode? {
        let container = value(of: node.index)
        guard records[container].kind == .array else {
            return pointer.withName(of: token) { member($0, of: node) }
        }
        guard let position = token.position else { return nil }
        var child = firstChild(of: container)
        for _ in 0..<position where child != 0 { child = nextChild(after: child) }
        return child == 0 ? nil : JSONNode(index: child)
    }

    func isNamed(_ name: UnsafeBufferPointer<UInt8>, _ record: JSONRecord) -> Bool {
        if record.flags.contains(.escapedName) {
            let isEqual = withText(record.nameStart..<record.nameEnd, isEscaped: true) { text in
                text.count == name.count && name.indices.allSatisfy { text[$0] == name[$0] }
            }
            return isEqual
        }
        guard Int(record.nameEnd - record.nameStart) == name.count else { return false }
        let start = Int(record.nameStart)
        for position in 0..<name.count where bytes[start + position] != name[position] { return false }
        return true
    }

    private func withText<R, E: Error>(
        _ range: Range<UInt32>, isEscaped: Bool, _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        try bytes.withUnsafeBufferPointer { (bytes) throws(E) in
            let text = UnsafeBufferPointer(rebasing: bytes[Int(range.lowerBound)..<Int(range.upperBound)])
            return try isEscaped ? JSONText.withUnescaped(text, body) : body(text.span)
        }
    }
}
