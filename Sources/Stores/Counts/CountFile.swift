import Glibc
import Synchronization

/// The counts of one partition in a SQLite file. Used by one thread.
///
/// A file of another cluster, changelog or version, or a damaged one, is set aside and a new one begun. If damage is
/// found after opening, only `clear` does that: until then the file answers nothing, because what it had is missing. If
/// the disk is too full to open a file, or no descriptor is left, the file is removed. The first write makes the file:
/// of a thousand partitions that an instance is assigned, most may never have one.
package final class CountFile: CountDisk {
    /// For the log.
    package enum News: Equatable, Sendable {
        case setAside(path: String, reason: String)
        /// Another shard has opened it.
        case taken
        case failed(StoreError)
    }

    private enum State {
        case absent
        /// It could not be opened: its content is unknown.
        case unopened
        case open
        /// Damage was found since it was opened.
        case damaged
    }

    package let path: String
    /// What the file is a copy of.
    private let identity: String
    private var state = State.absent
    /// Nil while the file is absent or unopened.
    private var connection: CountConnection?
    private let descriptors: CountDescriptors
    private var lease: CountDescriptors.Lease?
    private var news: [News] = []
    /// Held while a file is opened, made or removed: several shards of this process may do that to one partition's
    /// file, if a shard has lost the partition and does not know it.
    private static let names = Mutex(())

    package private(set) var secret = AccountSecret.random
    package private(set) var position: RecordPosition?
    package private(set) var highest: CountState?
    package private(set) var isTaken = false

    init(path: String, identity: String, _ descriptors: CountDescriptors) {
        self.path = path
        self.identity = identity
        self.descriptors = descriptors
        Self.names.withLock { _ in open() }
        secret = connection?.secret ?? secret
    }

    private func open() {
        if access(path, F_OK) != 0, errno == ENOENT { return }
        state = .unopened
        do throws(StoreError) {
            do throws(StoreError) {
                try connect()
            } catch let error where error.isDamage {
                try setAside("\(error)")
                try connect()
            } catch let error where error.isLack {
                // Not even its owner can be written into it. Its content is in the changelog too.
                report(error)
                try AsideFile.remove(path)
                state = .absent
            }
        } catch {
            report(error)
        }
    }

    /// The news since the last call: at most one failure of a kind.
    package func takeNews() -> [News] {
        defer { news = [] }
        return news
    }

    package func read(_ accounts: [AccountHash], _ body: (AccountHash, CountState) -> Void) -> Bool {
        state == .absent || perform { () throws(StoreError) in try connection?.read(accounts, body) }
    }

    package func write(_ rows: [(account: AccountHash, state: CountState)], at position: RecordPosition?) -> Bool {
        let position = position ?? self.position
        let highest = rows.reduce(highest) { highest, row in max(row.state, highest ?? row.state) }
        if state == .absent, !make() { return false }
        let isWritten = perform { () throws(StoreError) in
            try connection?.write(rows, at: position, highest: highest)
        }
        if isWritten { (self.position, self.highest) = (position, highest) }
        return isWritten
    }

    package func clear() -> Bool {
        Self.names.withLock { _ in
            do throws(StoreError) {
                switch state {
                case .absent: break
                case .unopened, .open: try remove()
                case .damaged: try setAside("damaged")
                }
                (state, position, highest) = (.absent, nil, nil)
                connection = nil
                lease = nil
                return true
            } catch {
                report(error)
                return false
            }
        }
    }

    /// Makes the file if no other owner has made it meanwhile.
    private func make() -> Bool {
        Self.names.withLock { _ in
            do throws(StoreError) {
                guard access(path, F_OK) != 0 else { throw .inUse(path: path) }
                // The copies may be lost at any time, and their folder with them.
                if let slash = path.lastIndex(of: "/") { mkdir(String(path[..<slash]), 0o700) }
                try connect()
            } catch {
                if error != .inUse(path: path) { try? AsideFile.remove(path) }
                report(error)
                return false
            }
            return true
        }
    }

    /// Only the owner removes the file, and only one that it has opened.
    private func remove() throws(StoreError) {
        guard let isOwner = try connection?.isOwner() else { throw .unopened(path: path, error: EBADF) }
        guard isOwner else { throw .inUse(path: path) }
        try AsideFile.remove(path)
    }

    private func perform(_ body: () throws(StoreError) -> Void) -> Bool {
        guard state == .open else { return false }
        do throws(StoreError) {
            try body()
            return true
        } catch {
            report(error)
            if error.isDamage { state = .damaged }
            return false
        }
    }

    private func report(_ error: StoreError) {
        var failure = News.failed(error)
        if case .inUse = error { (isTaken, failure) = (true, .taken) }
        if !news.contains(failure) { news.append(failure) }
    }

    private func connect() throws(StoreError) {
        // A log that is left over from another file would be taken for this one's.
        if access(path, F_OK) != 0 { try AsideFile.remove(path) }
        guard let lease = descriptors.take() else { throw .unopened(path: path, error: EMFILE) }
        let opened = try CountConnection.open(path: path, identity: identity, secret: secret)
        (position, highest) = (opened.position, opened.highest)
        connection = consume opened
        self.lease = lease
        state = .open
    }

    private func setAside(_ reason: String) throws(StoreError) {
        news.append(.setAside(path: try AsideFile.move(path), reason: reason))
    }
}

/// Connections to count files take three descriptors each, and at most three quarters of the process's: without one
/// left, no broker could be connected to, and no probe answered.
final class CountDescriptors: Sendable {
    /// For one connection; destroying the lease gives it back.
    final class Lease {
        private let all: CountDescriptors

        fileprivate init(_ all: CountDescriptors) { self.all = all }

        deinit { all.connections.subtract(1, ordering: .relaxed) }
    }

    private let most: Int
    fileprivate let connections = Atomic<Int>(0)

    init(mostConnections: Int? = nil) { most = mostConnections ?? Self.share }

    private static var share: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur) / 4
    }

    /// nil if the limit is reached.
    func take() -> Lease? {
        guard connections.add(1, ordering: .relaxed).newValue <= most else {
            connections.subtract(1, ordering: .relaxed)
            return nil
        }
        return Lease(self)
    }
}

/// The folder of the count files, one for each partition of the input.
package struct CountFolder: Sendable {
    package let path: String
    let cluster: String
    let changelog: String
    private let descriptors: CountDescriptors

    /// Makes the folder if there is none. The files are copies of this changelog topic in the cluster with this
    /// identifier.
    package init(
        path: String, cluster: String, changelog: String, mostConnections: Int? = nil
    ) throws(StoreError) {
        descriptors = CountDescriptors(mostConnections: mostConnections)
        self.path = path
        self.cluster = cluster
        self.changelog = changelog
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .unopened(path) }
    }

    /// The file of a partition. Never fails: a file that cannot be opened answers nothing until it is opened again.
    package func open(topic: String, partition: Int32) -> CountFile {
        CountFile(
            path: "\(path)/\(Self.fileName(topic, partition))",
            identity: "\(topic)-\(partition) by \(changelog) at the cluster \(cluster)", descriptors)
    }

    /// Kafka allows only letters, digits and `._-` in a topic's name. A name with other bytes, or a long one, is cut
    /// and told apart by its hash: a file's name may have 255 bytes, with all that SQLite adds.
    static func fileName(_ topic: String, _ partition: Int32) -> String {
        let plain = topic.filter { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
        if plain.utf8.count == topic.utf8.count, plain.utf8.count <= 180 { return "\(topic)-\(partition).sqlite" }
        let hash = Array(topic.utf8).withUnsafeBytes { AccountSecret(0, 0).hash($0) }
        let digits = String(hash.high, radix: 16)
        let zeros = String(repeating: "0", count: 16 - digits.count)
        return "\(plain.prefix(160))%\(zeros)\(digits)-\(partition).sqlite"
    }
}
