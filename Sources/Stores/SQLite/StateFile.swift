import Glibc

/// The embedded state of one service: contacts, and how far their topic was read. Lends connections to those who keep them;
/// who reads or changes contacts needs no lock. That is for what stands beside the file, the counts of partitions.
package final class StateFile: Sendable {
    package enum Access: Sendable {
        /// Only this process uses what stands beside the file; throws `inUse` where another does.
        case alone
        case shared
    }

    package let path: String
    /// Where the file that was there before is now, and why.
    package let setAside: (path: String, reason: String)?
    private let lock: FileLock?

    /// Creates the file, or brings an older one up to date. `isCopy`: what it holds stands elsewhere too, so that one which is
    /// damaged or too new is set aside and begun anew.
    package init(path: String, access: Access, isCopy: Bool = false) throws(StoreError) {
        self.path = path
        self.lock = access == .alone ? try FileLock(for: path) : nil
        do throws(StoreError) {
            let database = try Database.open(path: path)
            try Schema.prepare(database)
            if isCopy { try database.check() }
            setAside = nil
        } catch let error where isCopy && error.isDamage {
            setAside = (try AsideFile.move(path), "\(error)")
            try Schema.prepare(try Database.open(path: path))
        }
    }

    package func connect() throws(StoreError) -> Database { try Database.open(path: path) }
}

/// An advisory lock that one process at a time can hold. The system gives it back when the process ends, however it
/// ends; the file stays.
///
/// SQLite's own locks sit on the database file and would be lost if anyone here opened and closed that too, so this is
/// a file beside it.
package struct FileLock: ~Copyable, Sendable {
    private let descriptor: Int32

    /// Throws `inUse` at once where another process holds it.
    package init(for path: String) throws(StoreError) {
        let descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unopened(path) }
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let failure = errno
            if failure == EINTR { continue }
            close(descriptor)
            throw failure == EWOULDBLOCK
                ? .inUse(path: path) : .unopened(path: path, error: failure)
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}

/// A SQLite file that is of no use here, set aside for an operator to look at, with the log that belongs to it.
enum AsideFile {
    /// Gives where it is now. Of one file the last two are kept.
    static func move(_ path: String) throws(StoreError) -> String {
        let aside = "\(path).aside-1"
        try move(aside, to: "\(path).aside-2")
        try move(path, to: aside)
        return aside
    }

    /// All that SQLite has of it.
    static func remove(_ path: String) throws(StoreError) {
        for suffix in ["", "-wal", "-shm"] {
            guard unlink(path + suffix) == 0 || errno == ENOENT else { throw .unopened(path + suffix) }
        }
    }

    private static func move(_ path: String, to other: String) throws(StoreError) {
        try remove(other)
        guard rename(path, other) == 0 || errno == ENOENT else { throw .unopened(path) }
        guard rename("\(path)-wal", "\(other)-wal") == 0 || errno == ENOENT else { throw .unopened(path) }
        // Who still has it open would share the index of its log with the file that gets its name.
        guard unlink("\(path)-shm") == 0 || errno == ENOENT else { throw .unopened("\(path)-shm") }
    }
}

/// The tables of a state file. The file knows its version; each step leads from one version to the next. From the
/// fifth on a step adds, and leaves what the release before reads and writes as it is: so a file of the next release is used
/// by this one as it stands.
enum Schema {
    static let steps = [
        // The owner "*" is the shared directory. The revision grows when contacts change.
        // There is a source, and its positions, where the contacts are those of a topic.
        """
        CREATE TABLE contact(
            owner BLOB NOT NULL, id BLOB NOT NULL, name BLOB NOT NULL, PRIMARY KEY(owner, id)) WITHOUT ROWID;
        CREATE TABLE contact_source(
            id INTEGER PRIMARY KEY CHECK(id=1), cluster TEXT NOT NULL, topic TEXT NOT NULL, seen INTEGER NOT NULL);
        CREATE TABLE contact_position(
            partition INTEGER PRIMARY KEY, offset INTEGER NOT NULL, timestamp INTEGER NOT NULL);
        CREATE TABLE contact_revision(id INTEGER PRIMARY KEY CHECK(id=1), revision INTEGER NOT NULL);
        INSERT INTO contact_revision VALUES(1, 0);
        """,
        // Tables of counts, which have files of their own now. The step stays, so that the schema keeps its number.
        "",
        // Contacts of one partition of a topic beside those of another; what belongs to none is in -1, always served. When
        // a partition was last known to its end is its own.
        """
        ALTER TABLE contact RENAME TO former_contact;
        CREATE TABLE contact(
            partition INTEGER NOT NULL, owner BLOB NOT NULL, id BLOB NOT NULL, name BLOB NOT NULL,
            PRIMARY KEY(owner, id, partition)) WITHOUT ROWID;
        INSERT INTO contact SELECT -1, owner, id, name FROM former_contact;
        DROP TABLE former_contact;
        CREATE TABLE contact_served(partition INTEGER PRIMARY KEY);
        INSERT INTO contact_served VALUES(-1);
        ALTER TABLE contact_position ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
        UPDATE contact_position SET seen=coalesce((SELECT seen FROM contact_source), 0);
        ALTER TABLE contact_source DROP COLUMN seen;
        ALTER TABLE contact_source ADD COLUMN is_copartitioned INTEGER NOT NULL DEFAULT 0;
        """,
        // Contacts that a reading of their topic from its beginning has not named yet.
        """
        CREATE TABLE contact_unseen(
            partition INTEGER NOT NULL, owner BLOB NOT NULL, id BLOB NOT NULL,
            PRIMARY KEY(partition, owner, id)) WITHOUT ROWID;
        """,
    ]

    static func prepare(_ database: borrowing Database, steps: [String] = Schema.steps) throws(StoreError) {
        if try version(of: database, known: steps.count) >= steps.count { return }
        try database.transaction { () throws(StoreError) in
            // Another process may have been here since, of the next release too.
            let found = try version(of: database, known: steps.count)
            for step in steps.dropFirst(found) { try database.execute(step) }
            try database.execute("PRAGMA user_version=\(max(found, steps.count))")
        }
    }

    private static func version(of database: borrowing Database, known: Int) throws(StoreError) -> Int {
        let found = Int(try database.integer("PRAGMA user_version") ?? 0)
        guard (0...known + 1).contains(found) else {
            throw .newerSchema(path: database.path, found: found, known: known)
        }
        return found
    }
}
