import Glibc
import Synchronization

/// The counts of one partition in a file. Used by one thread.
///
/// A file of another cluster, changelog or version, or a damaged one, is set aside; one of the former format, which was
/// SQLite's, is removed. If damage is found after opening, only `clear` sets it aside: until then the file answers
/// nothing, because what it had is missing. Without a file that can be used there is none until the first write makes
/// one: of a thousand partitions that an instance is assigned, most may never have one.
///
/// Another shard or process may have the same partition, and one of them not know yet that it has lost it. Each has a
/// file of its own under the same name; the last one made stays, a copy of the changelog as good as the other.
package final class CountFile: CountDisk {
    /// For the log.
    package enum News: Equatable, Sendable {
        case setAside(path: String, reason: String)
        case failed(StoreError)
    }

    package let path: String
    /// What the file is a copy of.
    private let identity: String
    private var file: SortedCounts?
    private var merge: CountMerge?
    private let descriptors: CountDescriptors
    private var lease: CountDescriptors.Lease?
    package private(set) var isDamaged = false
    private let tell: (News) -> Void
    /// Distinguishes the files that this process is making.
    private static let made = Atomic<Int>(0)

    package private(set) var secret = AccountSecret.random
    package var position: RecordPosition? { file?.trailer.position }
    package var highest: CountState? { file?.trailer.highest }
    package var rowCount: Int { file?.trailer.rowCount ?? 0 }

    init(
        path: String, former: String, identity: String, _ descriptors: CountDescriptors, tell: @escaping (News) -> Void
    ) {
        self.path = path
        self.identity = identity
        self.descriptors = descriptors
        self.tell = tell
        for suffix in ["", "-wal", "-shm"] { unlink(former + suffix) }
        do throws(StoreError) {
            guard access(path, F_OK) == 0 || errno != ENOENT else { return }
            guard let lease = descriptors.take() else { throw .unopened(path: path, error: EMFILE) }
            let opened = try SortedCounts.open(path: path, identity: identity)
            secret = opened.trailer.secret
            file = opened
            self.lease = lease
        } catch let error where error.isDamage {
            do throws(StoreError) { try setAside("\(error)") } catch { tell(.failed(error)) }
        } catch {
            tell(.failed(error))
        }
    }

    package func read(_ accounts: [AccountHash], _ body: (AccountHash, CountState) -> Void) -> Bool {
        perform { () throws(StoreError) in try file?.read(accounts, body) }
    }

    package func write(_ rows: [CountRow], at position: RecordPosition?, most: Int) -> CountWrite {
        var isWritten = false
        let isGood = perform { () throws(StoreError) in
            isWritten = try write(rows, at: position ?? self.position, most)
        }
        if !isGood {
            merge = nil
            if file == nil { lease = nil }
        }
        return !isGood ? .failed : isWritten ? .written : .begun
    }

    private func write(_ rows: [CountRow], at position: RecordPosition?, _ most: Int) throws(StoreError) -> Bool {
        if rows.isEmpty, merge == nil, file != nil {
            try file?.move(to: position)
            return true
        }
        if merge == nil { merge = try begin() }
        guard try merge?.advance(file, rows, most: most) == true else { return false }
        let highest = rows.reduce(highest) { highest, row in max(row.state, highest ?? row.state) }
        file = try merge?.finish(identity: identity, secret: secret, position: position, highest: highest)
        merge = nil
        return true
    }

    private func begin() throws(StoreError) -> CountMerge {
        if lease == nil { lease = descriptors.take() }
        guard lease != nil else { throw .unopened(path: path, error: EMFILE) }
        // The copies may be lost at any time, and their folders with them.
        for slash in path.indices.dropFirst() where path[slash] == "/" { mkdir(String(path[..<slash]), 0o700) }
        let number = Self.made.add(1, ordering: .relaxed).newValue
        return try CountMerge(path: path, temporary: "\(path).new-\(getpid())-\(number)")
    }

    package func giveUpWriting() { merge = nil }

    package func clear() -> Bool {
        merge = nil
        do throws(StoreError) {
            if isDamaged {
                try setAside("damaged")
            } else {
                // Also one that could not be opened.
                guard unlink(path) == 0 || errno == ENOENT || errno == EISDIR else { throw .unopened(path) }
            }
            file = nil
            lease = nil
            isDamaged = false
            return true
        } catch {
            tell(.failed(error))
            return false
        }
    }

    private func perform(_ body: () throws(StoreError) -> Void) -> Bool {
        if isDamaged { return false }
        do throws(StoreError) {
            try body()
            return true
        } catch {
            tell(.failed(error))
            if error.isDamage { isDamaged = true }
            return false
        }
    }

    private func setAside(_ reason: String) throws(StoreError) {
        tell(.setAside(path: try AsideFile.move(path), reason: reason))
    }
}

/// Count files take a descriptor each, one more while they are written, and at most three quarters of the process's:
/// without one left, no broker could be connected to, and no probe answered.
final class CountDescriptors: Sendable {
    /// For one file; destroying the lease gives it back.
    final class Lease {
        private let all: CountDescriptors

        fileprivate init(_ all: CountDescriptors) { self.all = all }

        deinit { all.files.subtract(1, ordering: .relaxed) }
    }

    private let most: Int
    fileprivate let files = Atomic<Int>(0)

    init(mostFiles: Int? = nil) { most = mostFiles ?? Self.share }

    private static var share: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur) / 4 * 3
    }

    /// nil if the limit is reached.
    func take() -> Lease? {
        guard files.add(1, ordering: .relaxed).newValue <= most else {
            files.subtract(1, ordering: .relaxed)
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
        path: String, cluster: String, changelog: String, mostFiles: Int? = nil
    ) throws(StoreError) {
        descriptors = CountDescriptors(mostFiles: mostFiles)
        self.path = path
        self.cluster = cluster
        self.changelog = changelog
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .unopened(path) }
        try removeUnfinished()
    }

    /// Removes what killed processes were making; not what another one is making now.
    private func removeUnfinished() throws(StoreError) {
        guard let folder = opendir(path) else { throw .unopened(path) }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let mark = name.firstRange(of: ".counts.new-") else { continue }
            let numbers = name[mark.upperBound...].split(separator: "-").map { pid_t($0) }
            guard numbers.count == 2, let process = numbers[0], numbers[1] != nil else { continue }
            if process == getpid() || kill(process, 0) != 0 { unlink("\(path)/\(name)") }
        }
    }

    /// The file of a partition. Never fails: instead of a file that cannot be opened the first write makes another one.
    /// `tell` is called by the thread that uses the file.
    package func open(
        topic: String, partition: Int32, tell: @escaping (CountFile.News) -> Void = { _ in }
    ) -> CountFile {
        let path = "\(path)/\(Self.fileName(topic, partition))"
        return CountFile(
            path: "\(path).counts", former: "\(path).sqlite",
            identity: "\(topic)-\(partition) by \(changelog) at the cluster \(cluster)", descriptors, tell: tell)
    }

    /// Kafka allows only letters, digits and `._-` in a topic's name. A name with other bytes, or a long one, is cut
    /// and told apart by its hash: a file's name may have 255 bytes, with what is added to it.
    static func fileName(_ topic: String, _ partition: Int32) -> String {
        let plain = topic.filter { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
        if plain.utf8.count == topic.utf8.count, plain.utf8.count <= 180 { return "\(topic)-\(partition)" }
        let hash = Array(topic.utf8).withUnsafeBytes { AccountSecret(0, 0).hash($0) }
        let digits = String(hash.high, radix: 16)
        let zeros = String(repeating: "0", count: 16 - digits.count)
        return "\(plain.prefix(160))%\(zeros)\(digits)-\(partition)"
    }
}
