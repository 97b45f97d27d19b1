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

    package private(set) var position: ChangelogPosition?
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

    // MARK: Reading and writing

    package func read(_ accounts: [AccountHash], _ body: (AccountHash, CountState) -> Void) -> Bool {
        isAbsent || perform { () throws(StoreError) in try connection?.read(accounts, body) }
    }

    package func write(_ rows: [(account: AccountHash, state: CountState)], at position: ChangelogPosition?) -> Bool {
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

    // MARK: The file

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
