import Push

/// Contacts as JSON Lines: `{"owner": "anna", "id": "c1", "name": "Zoë"}`. One without an owner is the shared
/// directory's.
struct ContactLines: ~Copyable {
    private var lines: LineReader
    private var line: [UInt8] = []
    private var document = JSONDocument()

    init(_ path: String) throws(StoreError) { lines = try LineReader(path) }

    var fileSize: Int { lines.fileSize }

    /// Gives the next contact; false at the end. Blank lines are passed over.
    mutating func next(
        _ body: (_ owner: RawSpan, _ id: RawSpan, _ name: RawSpan) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        repeat {
            guard try lines.next(into: &line) else { return false }
        } while line.allSatisfy { [0x20, 0x09, 0x0D].contains($0) }
        try parse()
        let owner = try string("owner")
        guard let id = try string("id"), document.hasText(id) else { throw failure("no id") }
        guard let name = try string("name") else { throw failure("no name") }
        _ = try document.withText(of: id) { (id) throws(StoreError) in
            try document.withText(of: name) { (name) throws(StoreError) in
                guard let owner else {
                    return try body(ContactDirectory.owner.utf8Span.span.bytes, id.bytes, name.bytes)
                }
                _ = try document.withText(of: owner) { (owner) throws(StoreError) in
                    try body(owner.bytes, id.bytes, name.bytes)
                }
            }
        }
        return true
    }

    /// What is wrong with the line read last.
    func failure(_ what: String) -> StoreError {
        .unreadableLine(path: lines.path, line: lines.number, what: what)
    }

    private mutating func parse() throws(StoreError) {
        let text = line
        do throws(PayloadError) {
            try text.span.withUnsafeBytes { (bytes) throws(PayloadError) in try document.read(bytes) }
        } catch {
            throw failure("\(error)")
        }
        guard document.kind(of: document.root) == .object else { throw failure("not a JSON object") }
    }

    /// Nil where the member is missing or null.
    private func string(_ member: StaticString) throws(StoreError) -> JSONNode? {
        guard let node = document.member(member, of: document.root) else { return nil }
        switch document.kind(of: node) {
        case .string: return node
        case .null: return nil
        default: throw failure("the \(member) is not a string")
        }
    }
}
