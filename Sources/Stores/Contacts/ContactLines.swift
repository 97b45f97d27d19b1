import Glibc
import PushmillPayload
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

/// Reads a file line by line, whatever the size of the file.
struct LineReader: ~Copyable {
    private static let longestLine = 1 << 20

    let path: String
    /// Of the line that was read last, from 1.
    private(set) var number = 0
    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)
    /// What was read and not given yet.
    private var pending = 0..<0
    private var isAtEnd = false

    init(_ path: String) throws(StoreError) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        self.path = path
        if descriptor < 0 { throw .unopened(path) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The size of the file, for those who reserve memory.
    var fileSize: Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Reads the next line, without its end; false where there is none.
    mutating func next(into line: inout [UInt8]) throws(StoreError) -> Bool {
        line.removeAll(keepingCapacity: true)
        var searched = 0
        while true {
            if let found = self.line(from: searched) {
                number += 1
                line.append(contentsOf: buffer[found])
                pending = min(found.upperBound + 1, pending.upperBound)..<pending.upperBound
                return true
            }
            if isAtEnd { return false }
            searched = pending.count
            try fill()
        }
    }

    private func line(from searched: Int) -> Range<Int>? {
        let start = pending.lowerBound
        let end = buffer[(start + searched)..<pending.upperBound].firstIndex(of: UInt8(ascii: "\n"))
        if let end { return start..<end }
        return isAtEnd && !pending.isEmpty ? pending : nil
    }

    private mutating func fill() throws(StoreError) {
        if pending.count == buffer.count {
            guard buffer.count < Self.longestLine else {
                throw .unreadableLine(path: path, line: number + 1, what: "longer than a mebibyte")
            }
            buffer.append(contentsOf: repeatElement(0, count: buffer.count))
        }
        if pending.lowerBound > 0 {
            buffer.replaceSubrange(0..<pending.count, with: Array(buffer[pending]))
            pending = 0..<pending.count
        }
        let free = pending.upperBound..<buffer.count
        let count = buffer.withUnsafeMutableBytes { bytes in
            let target = UnsafeMutableRawBufferPointer(rebasing: bytes[free])
            while true {
                let count = read(descriptor, target.baseAddress, target.count)
                if count >= 0 || errno != EINTR { return count }
            }
        }
        guard count >= 0 else { throw .unopened(path) }
        isAtEnd = count == 0
        pending = pending.lowerBound..<pending.upperBound + count
    }
}
