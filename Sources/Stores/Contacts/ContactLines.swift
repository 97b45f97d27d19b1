import Glibc
import PushmillPayload
import PushmillStages

/// Contacts as JSON Lines.
struct ContactLines: ~Copyable {
    private static let longestLine = 1 << 20

    private let file: InputFile
    private var lines = LineReader()
    private var members = ContactMembers()

    init(_ path: String) throws(StoreError) {
        do throws(FileFailure) { file = try InputFile(path: path) } catch { throw .unopened(path) }
    }

    /// The size of the file, for reserving memory; 0 if it is unknown.
    var fileSize: Int {
        var status = stat()
        return stat(file.path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Calls `body` with the next contact; false at the end. Skips blank lines.
    mutating func next(
        _ body: (_ owner: RawSpan, _ id: RawSpan, _ name: RawSpan) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        var line: ArraySlice<UInt8>
        repeat {
            guard let next = try nextLine() else { return false }
            line = next
        } while line.allSatisfy { [0x20, 0x09, 0x0D].contains($0) }
        let (key, name) = try parse(line)
        try members.withKey(key) { (owner, id) throws(StoreError) in
            try members.withText(of: name) { (name) throws(StoreError) in try body(owner, id, name) }
        }
        return true
    }

    /// The error for the line read last.
    func failure(_ what: String) -> StoreError { Self.failure(what, file, lines.number) }

    private static func failure(_ what: String, _ file: InputFile, _ number: Int) -> StoreError {
        .unreadableLine(path: file.path, line: number, what: what)
    }

    private mutating func nextLine() throws(StoreError) -> ArraySlice<UInt8>? {
        let (file, number) = (file, lines.number + 1)
        return try lines.next { count throws(StoreError) in
            guard count < Self.longestLine else { throw Self.failure("longer than a mebibyte", file, number) }
            do throws(FileFailure) { return try file.next() } catch { throw Self.failure(error.what, file, number) }
        }
    }

    private mutating func parse(_ line: ArraySlice<UInt8>) throws(StoreError) -> (ContactMembers.Key, name: JSONNode) {
        do throws(ContactMembers.Malformed) {
            try line.span.withUnsafeBytes { (bytes) throws(ContactMembers.Malformed) in try members.read(bytes) }
            return (try members.key(), try members.name())
        } catch {
            throw failure(error.what)
        }
    }
}

/// The members of a contact's JSON object: `{"owner": "anna", "id": "c1", "name": "Zoë"}`. A contact without an owner
/// belongs to the shared directory.
struct ContactMembers: ~Copyable {
    struct Malformed: Error { let what: String }

    typealias Key = (owner: JSONNode?, id: JSONNode)

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
        // No recipient is empty.
        if let owner, !document.hasText(owner) { throw Malformed(what: "the owner is empty") }
        guard let id = try string("id"), document.hasText(id) else { throw Malformed(what: "no id") }
        return (owner, id)
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

    /// Nil if the member is missing or null.
    private func string(_ member: StaticString) throws(Malformed) -> JSONNode? {
        guard let node = document.member(member, of: document.root) else { return nil }
        switch document.kind(of: node) {
        case .string: return node
        case .null: return nil
        default: throw Malformed(what: "the \(member) is not a string")
        }
    }
}
