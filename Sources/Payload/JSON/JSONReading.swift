import Glibc

/// Reads the document with its edits. If a member occurs more than once, its last value counts.
extension JSONDocument {
    public var root: JSONNode { JSONNode(index: 0) }

    public func kind(of node: JSONNode) -> JSONKind { records[value(of: node)].kind }

    public func node(at pointer: JSONPointer) -> JSONNode? {
        var node = root
        for token in pointer.tokens {
            guard let child = child(token, of: node, pointer) else { return nil }
            node = child
        }
        return node
    }

    /// The last member of that name: usually the one that got it last in the whole document.
    func member(_ name: MemberName, of node: JSONNode) -> JSONNode? {
        let latest = storage.latest[name.slot]
        if latest == 0 { return nil }
        let records = records
        let container = UInt32(truncatingIfNeeded: value(of: node))
        func isMember(_ record: UnsafePointer<JSONRecord>) -> Bool {
            record.pointee.name == name && record.pointee.parent == container
                && !record.pointee.flags.contains(.removed)
        }
        if Int(latest) < storage.records.count, isMember(records + Int(latest)) { return JSONNode(index: latest) }
        var found: JSONNode?
        var child = firstMember(of: node)
        while child != 0 {
            if isMember(records + Int(child)) { found = JSONNode(index: child) }
            child = records[Int(child)].next
        }
        return found
    }

    public func member(_ name: StaticString, of node: JSONNode) -> JSONNode? {
        member(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), of: node)
    }

    @inlinable
    public func forEachChild<E: Error>(of node: JSONNode, _ body: (JSONNode) throws(E) -> Void) throws(E) {
        var child = firstChild(of: node)
        while child != 0 {
            try body(JSONNode(index: child))
            child = nextChild(after: child)
        }
    }

    package func isNamed(_ name: StaticString, _ member: JSONNode) -> Bool {
        withName(of: member) { text in text.withUnsafeBytes { $0.hasBytes(name) } } ?? false
    }

    /// False if a later member has the same name.
    package func isLast(_ member: JSONNode, of node: JSONNode) -> Bool {
        withName(of: member) { text in text.withUnsafeBufferPointer { self.member($0, of: node) == member } } ?? true
    }

    package func children(of node: JSONNode) -> [JSONNode] {
        var children: [JSONNode] = []
        forEachChild(of: node) { children.append($0) }
        return children
    }

    public func childCount(of node: JSONNode) -> Int {
        var count = 0
        forEachChild(of: node) { _ in count += 1 }
        return count
    }

    /// The member's name; nil for an element.
    @inlinable
    public func withName<R, E: Error>(of node: JSONNode, _ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R? {
        guard let (range, isEscaped) = name(of: node) else { return nil }
        return try withText(range, isEscaped: isEscaped, body)
    }

    /// The text of a string, as UTF-8; nil for any other kind. Without escapes it is the document's own bytes.
    @inlinable
    public func withText<R, E: Error>(of node: JSONNode, _ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R? {
        guard let (range, isEscaped) = text(of: node) else { return nil }
        return try withText(range, isEscaped: isEscaped, body)
    }

    /// The spelling of a scalar; nil for an object or an array.
    @inlinable
    public func withSpelling<R, E: Error>(of node: JSONNode, _ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R? {
        guard let range = spelling(of: node) else { return nil }
        return try withText(range, isEscaped: false, body)
    }

    @usableFromInline
    func name(of node: JSONNode) -> (Range<Int>, isEscaped: Bool)? {
        let record = records[index(of: node)]
        guard record.nameStart > 0 else { return nil }
        return (Int(record.nameStart)..<Int(record.nameEnd), record.flags.contains(.escapedName))
    }

    @usableFromInline
    func text(of node: JSONNode) -> (Range<Int>, isEscaped: Bool)? {
        let record = records[value(of: node)]
        guard record.kind == .string else { return nil }
        return (Int(record.start) + 1..<Int(record.end) - 1, record.flags.contains(.escapedText))
    }

    @usableFromInline
    func spelling(of node: JSONNode) -> Range<Int>? {
        let record = records[value(of: node)]
        guard record.kind != .object, record.kind != .array else { return nil }
        return Int(record.start)..<Int(record.end)
    }

    /// The offset where a member or element begins; not for one that an edit has put in.
    package func start(of node: JSONNode) -> Int { Int(records[index(of: node)].memberStart) }

    /// The offset after the last byte of a value; not for one that an edit has put in.
    package func end(of node: JSONNode) -> Int { Int(records[index(of: node)].end) }

    public func string(of node: JSONNode) -> String? {
        withText(of: node) { text in text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
    }

    /// True for a string with at least one character.
    public func hasText(_ node: JSONNode) -> Bool {
        let record = records[value(of: node)]
        return record.kind == .string && record.end - record.start > 2
    }

    // MARK: - The index

    /// A node that is used after its lifetime may refer to another value, but never outside the index.
    func index(of node: JSONNode) -> Int {
        precondition(Int(node.index) < storage.records.count, "a node of an earlier document")
        return Int(node.index)
    }

    /// The record of the current value at a location.
    func value(of node: JSONNode) -> Int {
        let index = index(of: node)
        let replacement = records[index].replacement
        return replacement == 0 ? index : Int(replacement)
    }

    @usableFromInline
    func firstChild(of node: JSONNode) -> UInt32 { firstChild(of: value(of: node)) }

    func firstChild(of container: Int) -> UInt32 {
        let first = records[container].firstChild
        return first == 0 || !records[Int(first)].flags.contains(.removed) ? first : nextChild(after: first)
    }

    /// `child` must be one that this document has just returned.
    @usableFromInline
    func nextChild(after child: UInt32) -> UInt32 {
        var next = records[Int(child)].next
        while next != 0, records[Int(next)].flags.contains(.removed) { next = records[Int(next)].next }
        return next
    }

    func member(_ name: UnsafeBufferPointer<UInt8>, of node: JSONNode) -> JSONNode? {
        var last: UInt32 = 0
        var next = nextMember(name, from: firstMember(of: node))
        while next != 0 {
            last = next
            next = nextMember(name, from: records[Int(next)].next)
        }
        return last == 0 ? nil : JSONNode(index: last)
    }

    /// The first child of an object, removed or not.
    func firstMember(of node: JSONNode) -> UInt32 {
        let container = value(of: node)
        return records[container].kind == .object ? records[container].firstChild : 0
    }

    /// The first of that name among this child and those after it.
    func nextMember(_ name: UnsafeBufferPointer<UInt8>, from child: UInt32) -> UInt32 {
        let count = UInt32(truncatingIfNeeded: name.count)
        let records = records
        var child = child
        while child != 0 {
            let start = records[Int(child)].nameStart
            let flags = records[Int(child)].flags
            if records[Int(child)].nameEnd &- start == count || flags.contains(.escapedName),
                !flags.contains(.removed), isName(name, Int(start)..<Int(records[Int(child)].nameEnd), flags)
            {
                return child
            }
            child = records[Int(child)].next
        }
        return 0
    }

    private func isName(
        _ name: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, _ flags: JSONRecord.Flags
    ) -> Bool {
        guard !flags.contains(.escapedName) else { return isEscapedName(name, range) }
        guard let wanted = name.baseAddress else { return name.isEmpty }
        return memcmp(bytes + range.lowerBound, wanted, name.count) == 0
    }

    // Rarely needed, and too large for the loop.
    @inline(never)
    private func isEscapedName(_ name: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Bool {
        withText(range, isEscaped: true) { text in
            text.count == name.count && name.indices.allSatisfy { text[$0] == name[$0] }
        }
    }

    func child(_ token: JSONPointer.Token, of node: JSONNode, _ pointer: JSONPointer) -> JSONNode? {
        let container = value(of: node)
        guard records[container].kind == .array else {
            return pointer.withName(of: token) { member($0, of: node) }
        }
        guard let position = token.position else { return nil }
        var child = firstChild(of: container)
        var left = position
        while left > 0, child != 0 {
            child = nextChild(after: child)
            left -= 1
        }
        return child == 0 ? nil : JSONNode(index: child)
    }

    @inlinable
    func withText<R, E: Error>(
        _ range: Range<Int>, isEscaped: Bool, _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        // The storage, and with it the bytes, must outlive the body.
        let text = UnsafeBufferPointer(start: UnsafePointer(bytes + range.lowerBound), count: range.count)
        defer { withExtendedLifetime(storage) {} }
        return try isEscaped ? JSONText.withUnescaped(text, body) : body(text.span)
    }
}
