import PushmillBenchmarks
import PushmillLocalization
import PushmillStages
import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillStores

extension ContactBook {
    func name(_ id: String, for owner: String) throws -> String? {
        try entry(id, for: owner)?.name
    }

    func entry(_ id: String, for owner: String) throws -> (name: String, direction: TextDirection)? {
        var found: (String, TextDirection)?
        let isFound = try id.withBytes { (id) throws(ContactsUnavailable) in
            try owner.withBytes { (owner) throws(ContactsUnavailable) in
                try find(id, of: owner) { found = ($0.bytes.text, $1) }
            }
        }
        expect(isFound, is: (found != nil))
        return found
    }
}

struct ContactBookTests {
    let folder: TemporaryFolder
    let time = ManualTime()

    static let lines = """
        {"owner": "anna", "id": "c1", "name": "Zoë Martin"}
        {"owner": "anna", "id": "c2", "name": "first"}

        {"owner": "anna", "id": "c2", "name": "علي حسن"}
        {"owner": "boris", "id": "c1", "name": "Мама", "phone": [1, 2]}
        {"owner": "*", "id": "c9", "name": "Public Name"}
        {"id": "c8", "name": "Nobody's own"}
        {"owner": "anna", "id": "bad", "name": "Bad\\u202eGuy\\u0000\\u0007!"}
        {"owner": "anna", "id": "blank", "name": "\\t \\u2066"}
        {"owner": "a", "id": "nnac1", "name": "not Anna's"}
        """

    init() throws { folder = try TemporaryFolder() }

    enum Source: CaseIterable, Sendable { case file, state }

    private func book(_ source: Source, _ text: String = lines) throws -> any ContactBook {
        let path = try folder.write(text, to: "contacts.jsonl")
        guard source == .state else { return try ContactFile(path: path) }
        let state = try StateFile(path: folder.stateFile, access: .shared)
        _ = try ContactStore(state).importLines(path)
        return try StoredContacts(state, time: .manual(time))
    }

    @Test("Each source knows the same names", arguments: Source.allCases)
    func names(_ source: Source) throws {
        let book = try book(source)
        let expected: [(owner: String, id: String, name: String?)] = [
            ("anna", "c1", "Zoë Martin"), ("anna", "c2", "علي حسن"), ("boris", "c1", "Мама"),
            ("*", "c9", "Public Name"), ("*", "c8", "Nobody's own"), ("anna", "bad", "BadGuy!"), ("anna", "blank", nil),
            ("a", "nnac1", "not Anna's"), ("", "c1", nil), ("anna", "c9", nil), ("boris", "c2", nil),
            ("", "", nil), ("anna", "", nil), ("ann", "ac1", nil),
        ]
        for _ in 0..<2 {
            for (owner, id, name) in expected { try expect(book.name(id, for: owner), is: name, "\(owner) \(id)") }
        }
    }

    @Test("A contact's name comes with its text direction", arguments: Source.allCases)
    func directions(_ source: Source) throws {
        let book = try book(source)
        for (id, direction) in [("c1", UInt8(1)), ("c2", 2)] {
            try expect(book.entry(id, for: "anna")?.direction.rawValue, is: direction)
        }
    }

    @Test(
        "An invalid contact line is refused with its number", arguments: Source.allCases,
        [
            ("{\"id\": \"c1\"}", "no name"), ("{\"name\": \"x\"}", "no id"),
            ("{\"id\": \"\", \"name\": \"x\"}", "no id"),
            ("{\"id\": 1, \"name\": \"x\"}", "the id is not a string"), ("[]", "not a JSON object"),
            ("{\"id\": \"c1\"", "not JSON: unexpected end at byte 11"),
            ("{\"owner\": {}, \"id\": \"c1\", \"name\": \"x\"}", "the owner is not a string"),
            ("{\"owner\": \"\", \"id\": \"c1\", \"name\": \"x\"}", "the owner is empty"),
        ])
    func badLine(_ source: Source, _ bad: (line: String, what: String)) throws {
        let error = #expect(throws: StoreError.self) {
            _ = try book(source, "{\"id\": \"c0\", \"name\": \"x\"}\n\n\(bad.line)\n{\"id\": \"c2\", \"name\": \"x\"}")
        }
        expect(error, is: .unreadableLine(path: "\(folder.path)/contacts.jsonl", line: 3, what: bad.what))
    }

    @Test("A line longer than a mebibyte is refused")
    func endless() throws {
        let path = try folder.write(
            "{\"id\": \"c0\", \"name\": \"x\"}\n" + String(repeating: "x", count: 2 << 20), to: "contacts.jsonl")
        let error = #expect(throws: StoreError.self) { _ = try ContactFile(path: path) }
        expect(error, is: .unreadableLine(path: path, line: 2, what: "longer than a mebibyte"))
    }

    @Test("A missing file, or a folder, is an error that names the path")
    func unreadable() throws {
        for path in ["\(folder.path)/missing", folder.path] {
            let error = #expect(throws: StoreError.self) { _ = try ContactFile(path: path) }
            expect(error?.description.hasPrefix(path), is: true)
        }
    }

    @Test("Damaged lines are refused or read, and never trap", arguments: 0..<300)
    func mutated(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var bytes = Array(Self.lines.utf8)
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            let at = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: bytes[at] = .random(in: 0...255, using: &random)
            case 1: bytes.removeSubrange(at..<min(at + 7, bytes.count))
            default: bytes.insert(contentsOf: bytes[at..<min(at + 9, bytes.count)], at: 0)
            }
        }
        let path = try folder.write(bytes, to: "contacts.jsonl")
        do {
            let book = try ContactFile(path: path)
            _ = try book.name("c1", for: "anna")
        } catch let error as StoreError {
            guard case .unreadableLine(_, let line, _) = error else { throw error }
            #expect((1...20).contains(line))
        }
    }

    @Test("A reload reads a changed file, and keeps the earlier names if it cannot")
    func reload() throws {
        let path = try folder.write(Self.lines, to: "contacts.jsonl")
        let book = try ContactFile(path: path)
        try folder.write("{\"owner\": \"anna\", \"id\": \"c1\", \"name\": \"Zoë\"}", to: "contacts.jsonl")
        expect(book.file.reload(.request), is: .reloaded)
        try expect(book.name("c1", for: "anna"), is: "Zoë")
        #expect(try book.name("c1", for: "boris") == nil)
        try folder.write("{", to: "contacts.jsonl")
        expect(book.file.reload(.request), is: .failed("\(path):1: not JSON: unexpected end at byte 1"))
        try expect(book.name("c1", for: "anna"), is: "Zoë")
    }

    @Test("Contacts added to or deleted from the state file are seen a second later")
    func stateChanges() throws {
        let book = try book(.state)
        try expect([book.name("c1", for: "anna"), book.name("c3", for: "anna")], is: ["Zoë Martin", nil])
        let store = try ContactStore(try StateFile(path: folder.stateFile, access: .shared))
        try store.change { () throws(StoreError) in
            let (anna, c1, c3) = ("anna".utf8Span.span.bytes, "c1".utf8Span.span.bytes, "c3".utf8Span.span.bytes)
            try store.put(owner: anna, id: c3, name: "Carl".utf8Span.span.bytes)
            try store.remove(owner: anna, id: c1)
        }
        try expect([book.name("c1", for: "anna"), book.name("c3", for: "anna")], is: ["Zoë Martin", nil])
        time.advance(by: .seconds(1))
        try expect([book.name("c1", for: "anna"), book.name("c3", for: "anna")], is: [nil, "Carl"])
    }

    @Test("A contact whose name is longer than any payload is not found")
    func tooLong() throws {
        let long = String(repeating: "x", count: 70_000)
        let book = try book(.state, "{\"owner\": \"anna\", \"id\": \"c1\", \"name\": \"\(long)\"}")
        #expect(try book.name("c1", for: "anna") == nil)
    }

    /// Only optimized code must meet it: `swift test -c release`.
    private static var isOptimized: Bool {
        #if DEBUG
            false
        #else
            true
        #endif
    }

    @Test("A message allocates nothing, with a contact or not", .enabled(if: isOptimized), arguments: Source.allCases)
    func allocations(_ source: Source) throws {
        let book = try book(source)
        try expect(Measurement.contact("none", nil, of: "", in: book, messages: 1000).allocations, is: 0)
        try expect(Measurement.contact("name", "c1", of: "anna", in: book, messages: 1000).allocations, is: 0)
    }

    @Test("A look-up in an unreadable state file throws the reason")
    func unavailable() throws {
        let book = try book(.state)
        try Database.open(path: folder.stateFile).execute("ALTER TABLE contact RENAME TO lost")
        let error = #expect(throws: ContactsUnavailable.self) { try book.name("c1", for: "anna") }
        expect(error?.description.contains("no such table: contact"), is: true)
    }
}
