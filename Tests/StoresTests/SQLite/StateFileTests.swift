import Glibc
import PushmillTestSupport
import Testing

@testable import PushmillStores

struct StateFileTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("State files are accessible to their owner alone, whatever the process's umask")
    func modes() throws {
        try withoutFileMask {
            let state = try StateFile(path: folder.stateFile, access: .alone)
            let database = try state.connect()
            try database.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
            for name in folder.names { try expect(folder.mode(of: name), is: 0o600, "\(name)") }
            expect(folder.names.count, is: 4)
        }
    }

    @Test("A second process is told that a file is in use")
    func secondProcess() throws {
        let first = try StateFile(path: folder.stateFile, access: .alone)
        // A lock belongs to the open file: a second opening stands for a second process.
        #expect(throws: StoreError.inUse(path: folder.stateFile)) {
            try StateFile(path: folder.stateFile, access: .alone)
        }
        _ = try StateFile(path: folder.stateFile, access: .shared)
        try expect(exitStatus(of: ["/usr/bin/flock", "-n", folder.stateFile + ".lock", "true"]), is: 1)
        withExtendedLifetime(first) {}
    }

    @Test("The file is free again when its holder is gone")
    func release() throws {
        _ = try StateFile(path: folder.stateFile, access: .alone)
        _ = try StateFile(path: folder.stateFile, access: .alone)
        try expect(exitStatus(of: ["/usr/bin/flock", "-n", folder.stateFile + ".lock", "true"]), is: 0)
    }

    @Test("A file of the next release is used as it stands, and keeps its version")
    func nextSchema() throws {
        _ = try StateFile(path: folder.stateFile, access: .alone)
        let next = Schema.steps.count + 1
        try Database.open(path: folder.stateFile).execute("CREATE TABLE added(x); PRAGMA user_version=\(next)")
        let state = try StateFile(path: folder.stateFile, access: .alone, isCopy: true)
        #expect(state.setAside == nil)
        let version = try state.connect().prepare("PRAGMA user_version")
        #expect(try version.step() && version.integer(0) == Int64(next))
    }

    @Test("A damaged or too new copy is set aside and replaced by an empty one", arguments: [true, false])
    func setAside(isNewer: Bool) throws {
        if isNewer {
            _ = try StateFile(path: folder.stateFile, access: .alone)
            try Database.open(path: folder.stateFile).execute("PRAGMA user_version=\(Schema.steps.count + 2)")
        } else {
            try folder.write(String(repeating: "no database ", count: 1000), to: "state.sqlite")
        }
        #expect(throws: StoreError.self) { try StateFile(path: folder.stateFile, access: .alone) }
        let state = try StateFile(path: folder.stateFile, access: .alone, isCopy: true)
        expect(state.setAside?.path, is: "\(folder.stateFile).aside-1")
        #expect(folder.names.contains("state.sqlite.aside-1"))
        let contacts = try state.connect().prepare("SELECT count(*) FROM contact")
        #expect(try contacts.step() && contacts.integer(0) == 0)
        // The file set aside has the former content: only one that was too new opens as a database.
        expect(isNewer, is: ((try? Database.open(path: "\(folder.stateFile).aside-1")) != nil))
    }

    @Test("A copy damaged beyond its first page is set aside and replaced by an empty one")
    func damagedPages() throws {
        _ = try StateFile(path: folder.stateFile, access: .alone)
        try Database.open(path: folder.stateFile).execute("INSERT INTO contact VALUES (-1, 'anna', 'c1', 'Zoë')")
        #expect(try StateFile(path: folder.stateFile, access: .alone, isCopy: true).setAside == nil)
        let pages = try #require(fopen(folder.stateFile, "r+"))
        fseek(pages, 0, SEEK_END)
        let rest = ftell(pages) - 4096
        fseek(pages, 4096, SEEK_SET)
        fwrite([UInt8](repeating: 0xA5, count: rest), 1, rest, pages)
        #expect(fclose(pages) == 0 && rest > 0)
        // One that is no copy stays, and says so.
        let original = try StateFile(path: folder.stateFile, access: .shared)
        let error = #expect(throws: StoreError.self) { try original.check() }
        #expect(error?.isDamage == true)
        let state = try StateFile(path: folder.stateFile, access: .alone, isCopy: true)
        expect(state.setAside?.path, is: "\(folder.stateFile).aside-1")
        let contacts = try state.connect().prepare("SELECT count(*) FROM contact")
        #expect(try contacts.step() && contacts.integer(0) == 0)
        try state.check()
    }

    @Test("Imported contacts are set aside before the file becomes the copy of a topic, and a topic's are not")
    func importedContacts() throws {
        let lines = try folder.write(#"{"owner":"anna","id":"c1","name":"Zoë"}"#, to: "contacts.jsonl")
        _ = try ContactStore(try StateFile(path: folder.stateFile, access: .shared)).importLines(lines)
        // Contacts from a file of lines do not touch the store.
        #expect(try StateFile(path: folder.stateFile, access: .alone, isCopy: true).setAside == nil)
        func open() throws -> StateFile {
            try StateFile(path: folder.stateFile, access: .alone, isCopy: true, ofTopic: true)
        }
        func count(_ path: String) throws -> Int64? {
            try Database.open(path: path).integer("SELECT count(*) FROM contact")
        }
        try expect(open().setAside?.path, is: "\(folder.stateFile).aside-1")
        try expect(count("\(folder.stateFile).aside-1"), is: 1)
        try expect(count(folder.stateFile), is: 0)
        try Database.open(path: folder.stateFile).execute(
            "INSERT INTO contact_source VALUES (1, 'k', 't', 0); INSERT INTO contact VALUES (0, 'anna', 'c1', 'Zoë')")
        #expect(try open().setAside == nil)
        try expect(count(folder.stateFile), is: 1)
    }

    @Test("A connection to a file set aside shares nothing with the file that takes its name")
    func openAside() throws {
        let former = try StateFile(path: folder.stateFile, access: .shared).connect()
        try former.execute("SELECT count(*) FROM contact")
        #expect(folder.names.contains("state.sqlite-shm"))
        _ = try AsideFile.move(folder.stateFile)
        #expect(folder.names.allSatisfy { !$0.hasPrefix("state.sqlite-") })
        try former.execute("SELECT count(*) FROM contact")
    }

    @Test("A file of a newer version is refused and left as it is")
    func newerSchema() throws {
        _ = try StateFile(path: folder.stateFile, access: .alone)
        try Database.open(path: folder.stateFile).execute("PRAGMA user_version=99")
        #expect(throws: StoreError.newerSchema(path: folder.stateFile, found: 99, known: Schema.steps.count)) {
            try StateFile(path: folder.stateFile, access: .alone)
        }
    }

    @Test("A file of an older version is migrated and keeps its rows")
    func migration() throws {
        let database = try Database.open(path: folder.stateFile)
        let first = "CREATE TABLE t(x); INSERT INTO t VALUES(7);"
        try Schema.prepare(database, steps: [first])
        try Schema.prepare(database, steps: [first, "ALTER TABLE t ADD COLUMN y DEFAULT 8"])
        try Schema.prepare(database, steps: [first, "ALTER TABLE t ADD COLUMN y DEFAULT 8"])
        let rows = try database.prepare("SELECT x, y FROM t")
        #expect(try rows.step())
        #expect(rows.integer(0) == 7 && rows.integer(1) == 8)
        #expect(try !rows.step())
    }

    @Test("A migration step that fails leaves the earlier version")
    func failedMigration() throws {
        let database = try Database.open(path: folder.stateFile)
        #expect(throws: StoreError.self) {
            try Schema.prepare(database, steps: ["CREATE TABLE t(x)", "CREATE TABLE t(x)"])
        }
        try Schema.prepare(database, steps: ["CREATE TABLE t(x)"])
    }

    @Test("A missing folder is an error that names the file")
    func missingFolder() throws {
        let path = "\(folder.path)/missing/state.sqlite"
        for access in [StateFile.Access.alone, .shared] {
            let error = #expect(throws: StoreError.self) { try StateFile(path: path, access: access) }
            expect(error?.description.hasPrefix(path), is: true)
        }
    }

    private func exitStatus(of command: [String]) throws -> Int32 {
        var arguments = command.map { strdup($0) }
        defer { arguments.forEach { free($0) } }
        arguments.append(nil)
        var process: pid_t = 0
        try #require(posix_spawn(&process, command[0], nil, nil, &arguments, environ) == 0)
        var status: Int32 = 0
        try #require(waitpid(process, &status, 0) == process)
        return status >> 8 & 0xFF
    }
}
