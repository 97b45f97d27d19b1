/// The steps that make up every edit: a value is appended, then replaces another or goes into a container. Only
/// `change` alters an existing record, and it journals the old one.
extension JSONDocument {
    mutating func append(_ text: UnsafeBufferPointer<UInt8>, isUTF8: Bool = false) -> JSONNode {
        unshare()
        let start = storage.bytes.count
        let isEscaped = appendQuoted(text, isUTF8: isUTF8)
        return appendRecord(.string, from: start, isEscaped ? .escapedText : [])
    }

    /// True if something was escaped or replaced.
    private func appendQuoted(_ text: UnsafeBufferPointer<UInt8>, isUTF8: Bool = false) -> Bool {
        storage.bytes.reserve(JSONText.quotedCapacity(text.count))
        let count = JSONText.writeQuoted(text, isUTF8: isUTF8, to: storage.bytes.end)
        storage.bytes.take(count)
        // Two quotes and the text, if nothing was escaped or replaced.
        return count != text.count + 2
    }

    mutating func append(_ text: String) -> JSONNode {
        var text = text
        return text.withUTF8 { append($0, isUTF8: true) }
    }

    mutating func append(_ number: Int) -> JSONNode {
        unshare()
        let start = storage.bytes.count
        storage.bytes.reserve(DecimalText.capacity)
        storage.bytes.take(DecimalText.write(Int64(number), to: storage.bytes.end))
        return appendRecord(.number, from: start)
    }

    mutating func appendObject() -> JSONNode {
        unshare()
        let start = storage.bytes.count
        storage.bytes.append("{}")
        return appendRecord(.object, from: start)
    }

    /// A value that stands in `depth` containers; nil if it is not JSON or too deep.
    mutating func append(json: UnsafeRawBufferPointer, depth: Int) -> JSONNode? {
        unshare()
        let start = storage.bytes.count
        if let text = json.baseAddress?.assumingMemoryBound(to: UInt8.self) {
            storage.bytes.append(text, count: json.count)
        }
        return indexAppended(from: start, depth: depth)
    }

    mutating func append(copyOf node: JSONNode, in other: JSONDocument) -> JSONNode? {
        unshare()
        let start = storage.bytes.count
        let count = other.renderedByteCount(of: node)
        storage.bytes.reserve(count)
        storage.bytes.take(other.render(node, to: UnsafeMutableBufferPointer(start: storage.bytes.end, count: count)))
        return indexAppended(from: start, depth: 1)
    }

    private mutating func indexAppended(from start: Int, depth: Int) -> JSONNode? {
        let node = JSONNode(index: UInt32(storage.records.count))
        let end = storage.bytes.count
        storage.bytes.appendZeros(Self.padding)
        return (try? storage.index(from: start, to: end, depth: depth)) == nil ? nil : node
    }

    /// Another record for a string, to put it elsewhere with its escapes.
    mutating func append(copyOfText node: JSONNode) -> JSONNode {
        unshare()
        let original = records[value(of: node)]
        return append(
            JSONRecord(
                start: original.start, end: original.end, kind: original.kind,
                flags: original.flags.intersection([.escapedText, .decrypted, .localized])))
    }

    private func appendRecord(_ kind: JSONKind, from start: Int, _ flags: JSONRecord.Flags = []) -> JSONNode {
        append(JSONRecord(start: UInt32(start), end: UInt32(storage.bytes.count), kind: kind, flags: flags))
    }

    private func append(_ record: JSONRecord) -> JSONNode {
        storage.records.append(record)
        return JSONNode(index: UInt32(storage.records.count - 1))
    }

    // MARK: - Placing
    // Appending a value has unshared the storage.

    /// Replaces a node's value by an appended one.
    mutating func replace(_ node: JSONNode, by value: JSONNode) {
        let parent = records[index(of: node)].parent
        records[index(of: value)].parent = parent
        change(node.index) { $0.replacement = value.index }
        markChanged(parent)
    }

    /// Puts an appended value after the last child of a container.
    mutating func insert(_ node: JSONNode, named name: UnsafeBufferPointer<UInt8>?, into parent: JSONNode) {
        if let name { append(name: name, of: index(of: node)) }
        let container = value(of: parent)
        var last: UInt32 = 0
        var next = records[container].firstChild
        while next != 0 {
            last = next
            next = records[Int(next)].next
        }
        insert(node, behind: last, into: UInt32(container))
    }

    /// Puts the node behind `last`, the container's last child, or first into it if that is 0.
    private func insert(_ node: JSONNode, behind last: UInt32, into container: UInt32) {
        let record = records + index(of: node)
        record.pointee.parent = container
        record.pointee.flags.insert(.inserted)
        if last == 0 {
            change(container) { $0.firstChild = node.index }
        } else {
            change(last) { $0.next = node.index }
        }
        markChanged(container)
    }

    private func append(name: UnsafeBufferPointer<UInt8>, of index: Int) {
        let start = storage.bytes.count
        let isEscaped = appendQuoted(name)
        if isEscaped { records[index].flags.insert(.escapedName) }
        endName(of: index, MemberName(name), from: start)
    }

    /// A known name has nothing to escape.
    private func append(name: MemberName, of index: Int) {
        let start = storage.bytes.count
        storage.bytes.append(UInt8(ascii: "\""))
        storage.bytes.append(name.text)
        storage.bytes.append(UInt8(ascii: "\""))
        endName(of: index, name, from: start)
    }

    private func endName(of index: Int, _ name: MemberName, from start: Int) {
        records[index].nameStart = UInt32(start + 1)
        records[index].nameEnd = UInt32(storage.bytes.count - 1)
        records[index].name = name
        storage.latest[name.slot] = UInt32(index)
        storage.bytes.append(UInt8(ascii: ":"))
    }

    /// Replaces the value of a member, or adds the member, and removes every member of two other names, all in one
    /// pass.
    mutating func put(
        _ value: JSONNode, named name: MemberName, into parent: JSONNode, removing first: MemberName? = nil,
        _ second: MemberName? = nil
    ) {
        let container = self.value(of: parent)
        var member: UInt32 = 0
        var last: UInt32 = 0
        var child = records[container].firstChild
        while child != 0 {
            let record = records + Int(child)
            if record.pointee.name != .other, !record.pointee.flags.contains(.removed) {
                if record.pointee.name == name {
                    member = child
                } else if record.pointee.name == first || record.pointee.name == second {
                    removeChild(child)
                }
            }
            last = child
            child = record.pointee.next
        }
        if member != 0 { return replace(JSONNode(index: member), by: value) }
        append(name: name, of: index(of: value))
        insert(value, behind: last, into: UInt32(container))
    }

    mutating func remove(_ node: JSONNode) {
        unshare()
        removeChild(UInt32(index(of: node)))
    }

    private func removeChild(_ child: UInt32) {
        change(child) { $0.flags.insert(.removed) }
        markChanged(records[Int(child)].parent)
    }

    /// Removes every member of that name: the last one counts, so a remaining one would take effect.
    mutating func removeMembers(_ name: UnsafeBufferPointer<UInt8>, of node: JSONNode) {
        var child = nextMember(name, from: firstMember(of: node))
        while child != 0 {
            remove(JSONNode(index: child))
            child = nextMember(name, from: records[Int(child)].next)
        }
    }

    mutating func removeMembers(_ name: MemberName, of node: JSONNode) {
        let name = name.text
        removeMembers(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), of: node)
    }

    /// Marks the value, as an edit that can be undone.
    mutating func mark(_ node: JSONNode, _ flags: JSONRecord.Flags) {
        unshare()
        change(UInt32(value(of: node))) { $0.flags.formUnion(flags) }
    }

    /// Marks an appended value that is in no container yet.
    func markAppended(_ node: JSONNode, _ flags: JSONRecord.Flags) { records[index(of: node)].flags.formUnion(flags) }

    private func markChanged(_ container: UInt32) {
        var container = container
        while !records[Int(container)].flags.contains(.changed) {
            change(container) { $0.flags.insert(.changed) }
            container = records[Int(container)].parent
        }
    }

    /// Journals the record, then changes it. `index` must be valid.
    @inline(__always)
    private func change(_ index: UInt32, _ body: (inout JSONRecord) -> Void) {
        let record = records + Int(index)
        storage.change &+= 1
        storage.journal.append(JSONChange(number: storage.change, index: index, before: record.pointee))
        body(&record.pointee)
    }
}
