/// A CloudEvent in structured mode: a JSON object that holds the payload as its data, and the event's attributes.
package struct CloudEvent {
    static let maximumMembers = 256

    private var document = JSONDocument()
    private var members: [JSONNode] = []
    /// The hash of each member's name, so a long name is compared only with its own repetitions.
    private var nameHashes: [Int] = []
    private var data: [UInt8] = []

    package init() {}

    /// The memory of the index and of the copy of the data.
    package var byteCount: Int { document.indexByteCount + data.count }

    package var dataByteCount: Int { data.count }

    /// True if it has so much memory that it is not worth keeping for another event.
    package var isLarge: Bool { document.isLarge || data.capacity > OutputRecord.keptCapacity }

    /// True for `application/cloudevents`, `application/cloudevents+json; charset=UTF-8` and the like.
    package static func isStructured(contentType: UnsafeRawBufferPointer) -> Bool {
        let prefix = ("application/cloudevents" as StaticString).bytes
        guard contentType.count >= prefix.count else { return false }
        return zip(contentType, prefix).allSatisfy { $0 | 0x20 == $1 | 0x20 }
    }

    /// False if the event has no data.
    package mutating func read(_ event: UnsafeRawBufferPointer) throws(PayloadError) -> Bool {
        data.removeAll(keepingCapacity: true)
        members.removeAll(keepingCapacity: true)
        nameHashes.removeAll(keepingCapacity: true)
        try document.read(event)
        guard document.kind(of: document.root) == .object else { throw .notAnObject }
        guard document.childCount(of: document.root) <= Self.maximumMembers else { throw .tooManyMembers }
        findMembers()
        if let node = document.member("data", of: document.root), document.kind(of: node) != .null {
            document.render(node, into: &data)
            return true
        }
        guard let node = document.member("data_base64", of: document.root) else { return false }
        return document.withText(of: node) { Base64.decode($0, into: &data) } ?? false
    }

    package func readData(into content: inout NotificationContent) throws(PayloadError) {
        try data.span.withUnsafeBytes { (bytes) throws(PayloadError) in try content.read(bytes) }
    }

    /// The type of the data, for the header `content-type`.
    package func appendContentType(to text: inout [UInt8]) {
        if let type = document.member("datacontenttype", of: document.root), document.hasText(type) {
            write(type, to: &text)
        } else {
            text.append("application/json")
        }
    }

    /// The other attributes; their names have only lower-case letters and digits, as the standard requires.
    package func forEachAttribute(_ body: (_ name: UnsafeRawBufferPointer, _ write: (inout [UInt8]) -> Void) -> Void) {
        for position in members.indices {
            let node = members[position]
            _ = document.withName(of: node) { name in
                name.withUnsafeBytes { name in
                    guard isAttribute(node, named: name), isLast(position, of: name) else { return }
                    body(name) { write(node, to: &$0) }
                }
            }
        }
    }

    private mutating func findMembers() {
        let document = document
        document.forEachChild(of: document.root) { node in
            var hasher = Hasher()
            _ = document.withName(of: node) { name in name.withUnsafeBytes { hasher.combine(bytes: $0) } }
            members.append(node)
            nameHashes.append(hasher.finalize())
        }
    }

    private func isAttribute(_ node: JSONNode, named name: UnsafeRawBufferPointer) -> Bool {
        switch document.kind(of: node) {
        case .object, .array, .null: return false
        case .string, .number, .true, .false: break
        }
        if name.hasBytes("data") || name.hasBytes("datacontenttype") { return false }
        return !name.isEmpty && name.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
    }

    private func isLast(_ position: Int, of name: UnsafeRawBufferPointer) -> Bool {
        Self.isLast(position, among: nameHashes) { later in
            document.withName(of: members[later]) { other in other.withUnsafeBytes { $0.hasBytes(name) } } == true
        }
    }

    /// Compares only names with equal hashes, and stops at the first that is the same.
    static func isLast(_ position: Int, among nameHashes: [Int], isSame: (_ later: Int) -> Bool) -> Bool {
        !nameHashes.indices[(position + 1)...].contains { nameHashes[$0] == nameHashes[position] && isSame($0) }
    }

    private func write(_ node: JSONNode, to text: inout [UInt8]) {
        guard document.kind(of: node) == .string else { return document.render(node, into: &text) }
        document.withText(of: node) { string in string.withUnsafeBytes { text.append(contentsOf: $0) } }
    }
}
