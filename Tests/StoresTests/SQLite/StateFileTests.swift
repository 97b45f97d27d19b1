import Glibc
import TestSupport
import Testing

@testable import Stores

struct StateFileTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    // (trust 7)
    @Test("What is in the state is its owner's alone, whatever the process's mask is")
    func modes() throws {
        let mask = umask(0)
        defer { umask(mask) }
        let state = try StateFile(path: folder.stateFile, access: .alone)
        let database = try state.connect()
        try database.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        for name in ["", "-wal", "-shm", ".lock"] {
            var status = stat()
            try #require(stat(folder.stateFile + name, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600, "\(name)")
        }
    }

    @Test("Who comes second to a file that one process has alone is told so")
    func secondProcess() throws {
        let first = try StateFile(path: folder.stateFile, access: .alone)
        // A lock belongs to the open file, so that a second opening stands for a second process.
        #expect(throws: StoreError.inUse(path: folder.stateFile)) {
            try StateFile(path: folder.stateFile, access: .alone)
        }
        _ = try StateFile(path: folder.stateFile, access: .shared)
        #expect(try exitStatus(of: ["/usr/bin/flock", "-n", folder.stateFile + ".lock", "true"]) == 1)
        withExtendedLifetime(first) {}
    }

    @Test("The file is free again when its holder is gone")
    func release() throws {
        _ = try StateFile(path: folder.stateFile, access: .alone)
        _ = try StateFile(path: folder.stateFile, access: .alone)
        #expect(try exitStatus(of: ["/usr/bin/flock", "-n", folder.stateFile + ".lock", "true"]) == 0)
    }

    @Test("A file of a newer version is refused and left as it is")
    func newerSchema() throws {
        _ = try StateFile(path: folder.stateFile, access: .alone)
        try Database.open(path: folder.stateFile).execute("PRAGMA user_version=99")
        #expect(throws: StoreError.newerSchema(path: folder.stateFile, found: 99, known: Schema.steps.count)) {
            try StateFile(path: folder.stateFile, access: .alone)
        }
    }

    @Test("A file of an older version is brought up to date, its rows kept")
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

    @Test("A step that fails leaves the version that was there")
    func failedMigration() throws {
        let database = try Database.open(path: folder.stateFile)
        #expect(throws: StoreError.self) {
            try Schema.prepare(database, steps: ["CREATE TABLE t(x)", "CREATE TABLE t(x)"])
        }
        try Schema.prepare(database, steps: ["CREATE TABLE t(x)"])
    }

    @Test("A folder that is not there is an error that names the file")
    func missingFolder() throws {
        let path = "\(folder.path)/missing/state.sqlite"
        for access in [StateFile.Access.alone, .shared] {
            let error = #expect(throws: StoreError.self) { try StateFile(path: path, access: access) }
            #expect(error?.description.hasPrefix(path) == true)
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
