import PushmillStages

/// What a JSON object says of a contact: `{"owner": "anna", "id": "c1", "name": "Zoë"}`. Without an owner it belongs to
/// the shared directory.
struct ContactMembers: ~Copyable {
    struct Malformed: Error { let what: String }

    struct Key {
        fileprivate let owner: JSONNode?
        fileprivate let id: JSONNode
    }

    private var document = JSONDocument()

    mutating func read(_ text: UnsafeRawBufferPointer) throws(Malformed) {
        do throws(PayloadError) {
            try document.read(text)
        } catch {
            throw Malformed(what: "\(error)")
        }
        guard document.kind(of: document.root) == .object else { throw Malformed(what: "not a JSON object") }
    }

    func key() throws(Malformed) -> Key {
        let owner = try string("owner")
        guard let id = try string("id"), document.hasText(id) else { throw Malformed(what: "no id") }
        return Key(owner: owner, id: id)
    }

    func name() throws(Malformed) -> JSONNode {
        guard let name = try string("name") else { throw Malformed(what: "no name") }
        return name
    }

    func withKey<E: Error>(_ key: Key, _ body: (_ owner: RawSpan, _ id: RawSpan) throws(E) -> Void) throws(E) {
        try withText(of: key.id) { (id) throws(E) in
            guard let owner = key.owner else { return try body(ContactDirectory.owner.utf8Span.span.bytes, id) }
            try withText(of: owner) { (owner) throws(E) in try body(owner, id) }
        }
    }

    func withText<E: Error>(of node: JSONNode, _ body: (RawSpan) throws(E) -> Void) throws(E) {
        _ = try document.withText(of: node) { (text) throws(E) in try body(text.bytes) }
    }

    /// Nil where the member is missing or null.
    private func string(_ member: StaticString) throws(Malformed) -> JSONNode? {
        guard let node = document.member(member, of: document.root) else { return nil }
        switch document.kind(of: node) {
        case .string: return node
        case .null: return nil
        default: throw Malformed(what: "the \(member) is not a string")
        }
    }
}
