import Glibc

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
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw Self.failure(path) }
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

    // MARK: The secret

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
            throw failure(path)
        }
        defer { close(descriptor) }
        var words: [UInt64] = [0, 0, 0]
        let count = words.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw failure(path) }
        if count == 16 { return AccountSecret(UInt64(littleEndian: words[0]), UInt64(littleEndian: words[1])) }
        unlink(path)
        return nil
    }

    /// Another process may be making one too: the first wins.
    private static func make(_ path: String) throws(StoreError) {
        // For its owner's eyes only (0600).
        var template = Array("\(path).XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw failure(path) }
        defer {
            close(descriptor)
            unlink(template)
        }
        var random = SystemRandomNumberGenerator()
        let words: [UInt64] = [random.next(), random.next()]
        let count = words.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count == 16, fsync(descriptor) == 0, link(template, path) == 0 || errno == EEXIST else {
            throw failure(path)
        }
    }

    private static func failure(_ path: String) -> StoreError {
        .unopened(path: path, message: String(cString: strerror(errno)))
    }
}
