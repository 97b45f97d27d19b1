import Glibc

/// The counts of one partition in a SQLite file. Used by one thread.
///
/// A file of another cluster, changelog, secret or version, or one that is damaged, is set aside and begun anew. A damaged
/// one only by `clear`: until then it answers nothing, since what it had is missing. The file is made by the first write:
/// of a thousand partitions that an instance is given most may never have one.
package final class CountFile: CountDisk {
    /// Of what the file is a copy.
    package struct Identity: Equatable, Sendable {
        let cluster: String
        let changelog: String
        /// The partition of the input.
        let source: String
        let secret: Int64
    }

    /// For the log.
    package enum News: Equatable, Sendable {
        case setAside(path: String, reason: String)
        case failed(StoreError)
    }

    package let path: String
    private let identity: Identity
    private let cacheKilobytes: Int
    /// Nil where there is no file yet, or where it could not be opened, so that nobody knows what is there: when it can be,
    /// it is begun anew.
    private var connection: CountConnection?
    private var isAbsent: Bool
    private var isDamaged = false
    private var news: [News] = []

    package private(set) var position: RecordPosition?
    package private(set) var highest: CountState?

    init(path: String, identity: Identity, cacheKilobytes: Int) {
        self.path = path
        self.identity = identity
        self.cacheKilobytes = cacheKilobytes
        isAbsent = access(path, F_OK) != 0 && errno == ENOENT
        if isAbsent { return }
        do throws(StoreError) {
            try connect()
        } catch  where error.isDamage {
            setAsideAndReopen("\(error)")
        } catch {
            report(error)
        }
    }

    /// What happened since the last call: at most one failure of a kind.
    package func takeNews() -> [News] {
        defer { news = [] }
        return news
    }

    package func read(_ accounts: [AccountHash], _ body: (AccountHash, CountState) -> Void) -> Bool {
        isAbsent || perform { () throws(StoreError) in try connection?.read(accounts, body) }
    }

    package func write(_ rows: [(account: AccountHash, state: CountState)], at position: RecordPosition?) -> Bool {
        let position = position ?? self.position
        let highest = rows.reduce(highest) { highest, row in
            if let highest, row.state <= highest { highest } else { row.state }
        }
        let isWritten = perform { () throws(StoreError) in
            try connection?.write(rows, at: position, highest: highest)
        }
        if isWritten { (self.position, self.highest) = (position, highest) }
        return isWritten
    }

    package func clear() -> Bool {
        connection = nil
        (position, highest) = (nil, nil)
        do throws(StoreError) {
            if isDamaged { try setAside("damaged") } else { try AsideFile.remove(path) }
            (isDamaged, isAbsent) = (false, true)
            return true
        } catch {
            report(error)
            return false
        }
    }

    private func perform(_ body: () throws(StoreError) -> Void) -> Bool {
        if isDamaged { return false }
        do throws(StoreError) {
            if connection == nil {
                try AsideFile.remove(path)
                try connect()
                isAbsent = false
            }
            try body()
            return true
        } catch {
            report(error)
            if error.isDamage { isDamaged = true }
            return false
        }
    }

    private func report(_ error: StoreError) {
        let failure = News.failed(error)
        if !news.contains(failure) { news.append(failure) }
    }

    private func connect() throws(StoreError) {
        // A log that is left of another file would be taken for this one's.
        if access(path, F_OK) != 0 { try AsideFile.remove(path) }
        let opened = try CountConnection.open(path: path, identity: identity, cacheKilobytes: cacheKilobytes)
        (position, highest) = (opened.position, opened.highest)
        connection = consume opened
    }

    private func setAsideAndReopen(_ reason: String) {
        do throws(StoreError) {
            try setAside(reason)
            try connect()
        } catch {
            report(error)
        }
    }

    private func setAside(_ reason: String) throws(StoreError) {
        news.append(.setAside(path: try AsideFile.move(path), reason: reason))
    }
}

/// Where the files behind the counts are, one for each partition of the input, and the secret with which accounts are
/// hashed in all of them.
package struct CountFolder: Sendable {
    package let path: String
    package let secret: AccountSecret
    let cluster: String
    let changelog: String

    /// Makes the folder, and its secret, where there is none. The cluster's identifier and the changelog's topic are those
    /// of which files are a copy.
    package init(path: String, cluster: String, changelog: String) throws(StoreError) {
        self.path = path
        self.cluster = cluster
        self.changelog = changelog
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .unopened(path) }
        secret = try Self.secret(in: "\(path)/secret")
    }

    /// The file of a partition. Never fails: what cannot be opened is tried again when it is used.
    package func open(topic: String, partition: Int32, cacheKilobytes: Int = 1024) -> CountFile {
        CountFile(
            path: "\(path)/\(Self.fileName(topic, partition))",
            identity: CountFile.Identity(
                cluster: cluster, changelog: changelog, source: "\(topic)-\(partition)", secret: Self.check(secret)),
            cacheKilobytes: cacheKilobytes)
    }

    /// Other bytes than those of which Kafka lets topics be named are escaped, and a long name is cut and told apart by its
    /// hash: a file's name may have 255 bytes with all that SQLite adds.
    static func fileName(_ topic: String, _ partition: Int32) -> String {
        var name = ""
        for byte in topic.utf8 {
            let character = Character(UnicodeScalar(byte))
            let isPlain = byte < 0x80 && (character.isLetter || character.isNumber || "._-".contains(character))
            name += isPlain ? String(character) : "%" + hexadecimal(UInt64(byte), digits: 2)
        }
        if name.utf8.count > 180 {
            let hash = Array(topic.utf8).withUnsafeBytes { AccountSecret(0, 0).hash($0) }
            name = "\(name.prefix(160))%\(hexadecimal(hash.high, digits: 16))"
        }
        return "\(name)-\(partition).sqlite"
    }

    private static func hexadecimal(_ number: UInt64, digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }

    /// What a file keeps to know whether its hashes are of this secret.
    private static func check(_ secret: AccountSecret) -> Int64 {
        let hash = Array("whose hashes are in this file".utf8).withUnsafeBytes { secret.hash($0) }
        return Int64(bitPattern: hash.high ^ hash.low)
    }

    private static func secret(in path: String) throws(StoreError) -> AccountSecret {
        for _ in 0..<3 {
            if let secret = try read(path) { return secret }
            try make(path)
        }
        throw .damaged(path: path, what: "not a secret, and cannot be replaced")
    }

    /// Nil where there is none, or none that is whole.
    private static func read(_ path: String) throws(StoreError) -> AccountSecret? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .unopened(path)
        }
        defer { close(descriptor) }
        var words: [UInt64] = [0, 0, 0]
        let count = words.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw .unopened(path) }
        if count == 16 { return AccountSecret(UInt64(littleEndian: words[0]), UInt64(littleEndian: words[1])) }
        unlink(path)
        return nil
    }

    /// Another process may be making one too: the first wins.
    private static func make(_ path: String) throws(StoreError) {
        // For its owner's eyes only (0600).
        var template = Array("\(path).XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw .unopened(path) }
        defer {
            close(descriptor)
            unlink(template)
        }
        var random = SystemRandomNumberGenerator()
        let words: [UInt64] = [random.next(), random.next()]
        let count = words.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count == 16, fsync(descriptor) == 0, link(template, path) == 0 || errno == EEXIST else {
            throw .unopened(path)
        }
    }
}
