/// The few changes of which every edit is made: a value is appended, then put in the place of another or into a
/// container. Only `change` touches a record that was there before, and keeps what it was.
extension JSONDocument {
    mutating func append(_ text: UnsafeBufferPointer<UInt8>) -> JSONNode {
        let start = bytes.count
        JSONText.appendQuoted(text, to: &bytes)
        // Two quotes and the text, unless something was escaped.
        let isEscaped = bytes.count - start != text.count + 2
        return appendRecord(.string, from: start, isEscaped ? .escapedText : [])
    }

    mutating func append(_ text: String) -> JSONNode {
        var text = text
        return text.withUTF8 { append($0) }
    }

    mutating func append(_ number: Int) -> JSONNode {
        let start = bytes.count
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        var rest = number.magnitude
        var divisor: UInt = 1
        while rest / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
            divisor /= 10
        }
        return appendRecord(.number, from: start)
    }

    mutating func appendObject() -> JSONNode {
        let start = bytes.count
        bytes.append(contentsOf: "{}".utf8)
        return appendRecord(.object, from: start)
    }

    /// A value that stands in `depth` containers; nil if it is not JSON or too deep.
    mutating func append(json: UnsafeRawBufferPointer, depth: Int) -> JSONNode? {
        let start = bytes.count
        bytes.append(contentsOf: json)
        return indexAppended(from: start, depth: depth)
    }

    mutating func append(copyOf node: JSONNode, in other: JSONDocument) -> JSONNode? {
        let start = bytes.count
        other.render(node, into: &bytes)
        return indexAppended(from: start, depth: 1)
    }

    private mutating func indexAppended(from start: Int, depth: Int) -> JSONNode? {
        let node = JSONNode(index: UInt32(records.count))
        let end = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: Self.padding))
        return (try? index(from: start, to: end, depth: depth)) == nil ? nil : node
    }

    /// A further record for a string as it stands, so that it can be put elsewhere with its escapes.
    mutating func append(copyOfText node: JSONNode) -> JSONNode {
        let original = records[value(of: node.index)]
        var record = JSONRecord(start: original.start, kind: original.kind)
        record.end = original.end
        record.flags = original.flags.intersection([.escapedText, .decrypted, .localized])
        records.append(record)
        return JSONNode(index: UInt32(records.count - 1))
    }

    private mutating func appendRecord(
        _ kind: JSONKind, from start: Int, _ flags: JSONRecord.Flags = []
    ) -> JSONNode {
        var record = JSONRecord(start: UInt32(start), kind: kind)
        record.end = UInt32(bytes.count)
        record.flags = flags
        records.append(record)
        return JSONNode(index: UInt32(records.count - 1))
    }

    // MARK: - Placing

    /// Puts an appended value in the place of another.
    mutating func replace(_ node: JSONNode, by value: JSONNode) {
        let parent = records[Int(node.index)].parent
        records[Int(value.index)].parent = parent
        change(node.index) { $0.replacement = value.index }
        markChanged(parent)
    }

    /// Puts an appended value after the last child of a container.
    mutating func insert(_ node: JSONNode, named name: UnsafeBufferPointer<UInt8>?, into parent: JSONNode) {
        let container = UInt32(value(of: parent.index))
        if let name {
            let start = bytes.count
            JSONText.appendQuoted(name, to: &bytes)
            records[Int(node.index)].nameStart = UInt32(start + 1)
            records[Int(node.index)].nameEnd = UInt32(bytes.count - 1)
            if bytes.count - start != name.count + 2 { records[Int(node.index)].flags.insert(.escapedName) }
            bytes.append(UInt8(ascii: ":"))
        }
        records[Int(node.index)].parent = container
        records[Int(node.index)].flags.insert(.inserted)

        var last = records[Int(container)].firstChild
        if last == 0 {
            change(container) { $0.firstChild = node.index }
        } else {
            while records[Int(last)].next != 0 { last = records[Int(last)].next }
            change(last) { $0.next = node.index }
        }
        markChanged(container)
    }

    /// Puts an appended value in the place of a member, or in a new one.
    mutating func put(_ value: JSONNode, named name: UnsafeBufferPointer<UInt8>, into parent: JSONNode) {
        if let member = member(name, of: parent) {
            replace(member, by: value)
        } else {
            insert(value, named: name, into: parent)
        }
    }

    mutating func put(_ value: JSONNode, named name: StaticString, into parent: JSONNode) {
        put(value, named: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), into: parent)
    }

    mutating func remove(_ node: JSONNode) {
        change(node.index) { $0.flags.insert(.removed) }
        markChanged(records[Int(node.index)].parent)
    }

    /// Removes every member of that name: the last one counts, so that one left over would come to light.
    mutating func removeMembers(_ name: UnsafeBufferPointer<UInt8>, of node: JSONNode) {
        var child = nextMember(name, from: firstMember(of: node))
        while child != 0 {
            remove(JSONNode(index: child))
            child = nextMember(name, from: records[Int(child)].next)
        }
    }

    mutating func removeMembers(_ name: StaticString, of node: JSONNode) {
        removeMembers(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), of: node)
    }

    mutating func mark(_ node: JSONNode, _ flag: JSONRecord.Flags) {
        change(UInt32(value(of: node.index))) { $0.flags.insert(flag) }
    }

    private mutating func markChanged(_ container: UInt32) {
        var container = container
        while !records[Int(container)].flags.contains(.changed) {
            change(container) { $0.flags.insert(.changed) }
            container = records[Int(container)].parent
        }
    }

    private mutating func change(_ index: UInt32, _ body: (inout JSONRecord) -> Void) {
        journal.append((index, records[Int(index)]))
        body(&records[Int(index)])
    }
}
