import Glibc
import PushmillPayload

/// The embedded state of one service: contacts, and how far their topic was read. Callers keep their connections.
/// Reading or changing contacts needs no lock: the lock is for the counts of partitions, in files beside it.
package final class StateFile: Sendable {
    package enum Access: Sendable {
        /// Only this process uses the files beside this one; throws `inUse` if another process does.
        case alone
        case shared
    }

    package let path: String
    /// Where an unusable file was moved to, and why.
    package let setAside: (path: String, reason: String)?
    private let lock: FileLock?

    /// Creates the file, or updates an older one. With `isCopy` its content is also stored elsewhere: a file that is
    /// damaged or too new is set aside, and a new one begun. So is one with imported contacts if the file is to hold
    /// those of a topic.
    package init(path: String, access: Access, isCopy: Bool = false, ofTopic: Bool = false) throws(StoreError) {
        self.path = path
        self.lock = access == .alone ? try FileLock(for: path) : nil
        let reason: String?
        do throws(StoreError) {
            let database = try Database.open(path: path)
            try Schema.prepare(database)
            if isCopy { try database.check() }
            if ofTopic, try database.hasImportedContacts {
                reason = "it has contacts that were imported"
            } else {
                reason = nil
            }
        } catch let error where isCopy && error.isDamage {
            reason = "\(error)"
        }
        setAside = try reason.map { (reason) throws(StoreError) in (try AsideFile.move(path), reason) }
        if reason != nil { try Schema.prepare(try Database.open(path: path)) }
    }

    /// Whether there is a file that begins as those of SQLite do, or is empty.
    package static func isState(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let mark: StaticString = "SQLite format 3"
        return withUnsafeTemporaryAllocation(byteCount: mark.utf8CodeUnitCount, alignment: 1) { bytes in
            let count = read(descriptor, bytes.baseAddress, bytes.count)
            return count == 0 || count == bytes.count && bytes.elementsEqual(mark.bytes)
        }
    }

    package func connect() throws(StoreError) -> Database { try Database.open(path: path) }

    /// Throws if a page is damaged. For a file that is no copy; that of a copy is checked when it is opened.
    package func check() throws(StoreError) { try connect().check() }
}

extension Database {
    /// There are contacts, and no topic that they were read from.
    fileprivate var hasImportedContacts: Bool {
        get throws(StoreError) {
            try integer("SELECT EXISTS(SELECT 1 FROM contact) AND NOT EXISTS(SELECT 1 FROM contact_source)") == 1
        }
    }
}

/// An advisory lock that one process at a time can hold. The system releases it when the process ends, however it ends;
/// the file stays.
///
/// SQLite's own locks are on the database file, and would be lost if any code here opened and closed that file too. So
/// this is a separate file.
package struct FileLock: ~Copyable, Sendable {
    private let descriptor: Int32

    /// Throws `inUse` at once if another process holds it.
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

/// Sets an unusable file aside, with the log that SQLite may have beside it, for an operator to look at.
enum AsideFile {
    /// Returns its new path. The last two of each file are kept.
    static func move(_ path: String) throws(StoreError) -> String {
        let aside = "\(path).aside-1"
        try move(aside, to: "\(path).aside-2")
        try move(path, to: aside)
        return aside
    }

    /// Removes the file and what SQLite may have beside it.
    static func remove(_ path: String) throws(StoreError) {
        for suffix in ["", "-wal", "-shm"] {
            guard unlink(path + suffix) == 0 || errno == ENOENT else { throw .unopened(path + suffix) }
        }
    }

    private static func move(_ path: String, to other: String) throws(StoreError) {
        try remove(other)
        guard rename(path, other) == 0 || errno == ENOENT else { throw .unopened(path) }
        guard rename("\(path)-wal", "\(other)-wal") == 0 || errno == ENOENT else { throw .unopened(path) }
        // A connection still open to it would share the index of its log with the next file of that name.
        guard unlink("\(path)-shm") == 0 || errno == ENOENT else { throw .unopened("\(path)-shm") }
    }
}

/// The tables of a state file. The file knows its version; each step leads from one version to the next. From the fifth
/// on, a step only adds, and leaves alone what the previous release reads and writes: each release can use a file of
/// the next one unchanged.
enum Schema {
    static let steps = [
        // The owner "*" is the shared directory. The revision grows when contacts change. If the contacts are those of
        // a topic, there is a source and its positions.
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
        // Stands for tables of counts, which have their own files. The step stays, so that the schema keeps its number.
        "",
        // Contacts of each partition of a topic; those of no partition are in -1, always served. Each partition has its
        // own time when it was last read to its end.
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
        // Written by the previous release only: contacts that no record has named yet while their topic is read from
        // its beginning.
        """
        CREATE TABLE contact_unseen(
            partition INTEGER NOT NULL, owner BLOB NOT NULL, id BLOB NOT NULL,
            PRIMARY KEY(partition, owner, id)) WITHOUT ROWID;
        """,
        // Partitions that are read again from their beginning, since when (ms since 1970), and the contacts that they
        // have had so far, which will replace the present ones. Their positions have been seen at 0: the previous
        // release begins again with them. Marks are records that were read, by which a log is recognised.
        """
        CREATE TABLE contact_reread(partition INTEGER PRIMARY KEY, begun INTEGER NOT NULL);
        CREATE TABLE contact_new(
            partition INTEGER NOT NULL, owner BLOB NOT NULL, id BLOB NOT NULL, name BLOB NOT NULL,
            PRIMARY KEY(partition, owner, id)) WITHOUT ROWID;
        CREATE TABLE contact_mark(
            partition INTEGER NOT NULL, offset INTEGER NOT NULL, timestamp INTEGER NOT NULL,
            PRIMARY KEY(partition, offset)) WITHOUT ROWID;
        """,
    ]

    static func prepare(_ database: borrowing Database, steps: [String] = Schema.steps) throws(StoreError) {
        if try version(of: database, known: steps.count) >= steps.count { return }
        try database.transaction { () throws(StoreError) in
            // Another process may have been here since, perhaps one of the next release.
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
