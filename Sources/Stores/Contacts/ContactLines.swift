import PushmillStages

/// Contacts as JSON Lines.
struct ContactLines: ~Copyable {
    private var lines: LineReader
    private var line: [UInt8] = []
    private var members = ContactMembers()

    init(_ path: String) throws(StoreError) { lines = try LineReader(path) }

    var fileSize: Int { lines.fileSize }

    /// Gives the next contact; false at the end. Blank lines are passed over.
    mutating func next(
        _ body: (_ owner: RawSpan, _ id: RawSpan, _ name: RawSpan) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        repeat {
            guard try lines.next(into: &line) else { return false }
        } while line.allSatisfy { [0x20, 0x09, 0x0D].contains($0) }
        let (key, name) = try parse()
        try members.withKey(key) { (owner, id) throws(StoreError) in
            try members.withText(of: name) { (name) throws(StoreError) in try body(owner, id, name) }
        }
        return true
    }

    /// What is wrong with the line read last.
    func failure(_ what: String) -> StoreError {
        .unreadableLine(path: lines.path, line: lines.number, what: what)
    }

    private mutating func parse() throws(StoreError) -> (ContactMembers.Key, name: JSONNode) {
        let text = line
        do throws(ContactMembers.Malformed) {
            try text.span.withUnsafeBytes { (bytes) throws(ContactMembers.Malformed) in try members.read(bytes) }
            return (try members.key(), try members.name())
        } catch {
            throw failure(error.what)
        }
    }
}
