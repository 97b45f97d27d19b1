import Glibc
import PushmillTestSupport
import Testing

@testable import PushmillStores

struct ContactStoreTests {
    private let store: ContactScene
    private var folder: TemporaryFolder { store.folder }

    init() throws { store = try ContactScene() }

    private func lines(_ numbers: Range<Int>) -> String {
        numbers.map { "{\"owner\": \"o\($0 % 7)\", \"id\": \"\($0)\", \"name\": \"n\($0)\"}" }.joined(separator: "\n")
    }

    @Test("An import can be repeated, and reports its progress")
    func importing() throws {
        let path = try folder.write(lines(0..<25_000), to: "contacts.jsonl")
        for _ in 0..<2 {
            var progress: [Int] = []
            try expect(store.store.importLines(path) { progress.append($0) }, is: 25_000)
            expect(progress, is: [10_000, 20_000, 25_000])
            try expect(store.list().count, is: 25_000)
        }
        let renamed = try folder.write("{\"owner\": \"o1\", \"id\": \"1\", \"name\": \"new\"}", to: "contacts.jsonl")
        try expect(store.store.importLines(renamed), is: 1)
        try expect(store.list("o1").prefix(1), is: ["o1/1=new"])
        try expect(store.list().count, is: 25_000)
    }

    @Test("An import that stops at a bad line keeps all that precedes it")
    func failingImport() throws {
        let path = try folder.write(lines(0..<12_000) + "\n[]", to: "contacts.jsonl")
        var reported = 0
        #expect(throws: StoreError.unreadableLine(path: path, line: 12_001, what: "not a JSON object")) {
            try store.store.importLines(path) { reported = $0 }
        }
        expect(reported, is: 12_000)
        try expect(store.list().count, is: reported)
    }

    @Test("An import whose lines come slowly does not block other writers", .ownThread)
    func slowImport() async throws {
        let path = "\(folder.path)/pipe"
        try #require(mkfifo(path, 0o600) == 0)
        let bytes = Array((lines(0..<4000) + "\n").utf8)
        let state = store.state
        let other = try state.connect()
        async let importing = Self.importLines(path, into: state)
        // Returns when the import has opened the pipe.
        let writer = open(path, O_WRONLY | O_CLOEXEC)
        // A pipe holds less: once the write returns, the import has read some lines and waits for more.
        let written = bytes.withUnsafeBytes { write(writer, $0.baseAddress, $0.count) }
        let isFree = (try? other.execute("PRAGMA busy_timeout=0; BEGIN IMMEDIATE; ROLLBACK")) != nil
        close(writer)
        let imported = try await importing
        expect(written, is: bytes.count)
        #expect(isFree)
        expect(imported, is: 4000)
    }

    private static func importLines(_ path: String, into state: StateFile) async throws -> Int {
        try ContactStore(state).importLines(path)
    }

    @Test("A person's contacts can be listed and deleted, from the log too")
    func personalData() throws {
        let path = try folder.write(lines(0..<21), to: "contacts.jsonl")
        _ = try store.store.importLines(path)
        try expect(store.list("o3"), is: ["o3/10=n10", "o3/17=n17", "o3/3=n3"])
        try expect("o3".withBytes { (owner) throws(StoreError) in try store.store.delete(owner: owner) }, is: 3)
        // A service may have the file open as this reader does: once nothing is read, the log keeps nothing of them.
        let reader = try Database.open(path: folder.stateFile)
        try reader.execute("BEGIN; SELECT * FROM contact")
        try store.store.database.execute("PRAGMA busy_timeout=1")
        try expect(store.store.clearLog(), is: false)
        try reader.execute("END")
        try expect(store.store.clearLog(), is: true)
        var log = stat()
        #expect(stat("\(folder.stateFile)-wal", &log) == 0 && log.st_size == 0)
        try expect(store.list("o3"), is: [])
        try expect(store.list().count, is: 18)
        for (id, count) in [("3", 0), ("9", 1)] {
            let deleted = try "o2".withBytes { (owner) throws(StoreError) in
                try id.withBytes { (id) throws(StoreError) in try store.store.delete(owner: owner, id: id) }
            }
            expect(deleted, is: count)
        }
        try expect(store.list("o2"), is: ["o2/16=n16", "o2/2=n2"])
    }

    @Test("A change that fails is rolled back")
    func atomicChange() throws {
        let (owner, id) = ("o".utf8Span.span.bytes, "i".utf8Span.span.bytes)
        #expect(throws: StoreError.self) {
            try store.store.change { () throws(StoreError) in
                try store.store.put(owner: owner, id: id, name: id)
                throw .damaged(path: "", what: "")
            }
        }
        try expect(store.list(), is: [])
    }
}
