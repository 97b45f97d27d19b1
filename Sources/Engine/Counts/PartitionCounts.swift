package import PushmillStores

/// The counts of one partition: those in memory, within a budget, and the disk behind them. Owned by one thread.
///
/// Messages see and change the live state of an account. A state that the changelog has acknowledged waits separately
/// for the write-behind. Accounts that are changed, waiting or used by an unfinished entry stay in memory.
package struct PartitionCounts<Disk: CountDisk>: ~Copyable {
    let disk: Disk
    /// The key with which accounts are hashed.
    package let secret: AccountSecret
    /// Bytes of memory. Accounts that must stay may exceed it. May change as partitions come and go.
    package var budget: Int
    private let undoes: Bool

    private(set) var table = CountTable()
    private var filter: CountFilter?
    private var wanted: [AccountHash] = []
    private var missing: [AccountHash] = []
    private var found: [CountRow] = []
    /// The live states of accounts before their first change in the open transaction.
    private var undo: [CountRow] = []

    /// States acknowledged but not yet on disk, of accounts in memory; an account's later state follows an earlier one.
    private var rows: [CountRow] = []
    private var rowsToCompact = fewestToCompact
    /// The rows being written, sorted, one per account. Once they are on disk, the first `written` are marked so.
    private var writing: [CountRow] = []
    private var isOnDisk = false
    private var written = 0
    private var writingPosition: RecordPosition?
    /// How many rows a full disk has refused during a restore.
    private var rowsRefused = 0
    /// More rows than are written at once, unless the disk fails.
    private static var fewestToCompact: Int { 131_072 }
    private static var keptCapacity: Int { 16_384 }

    /// The highest state of any account that the changelog is known to have, by incarnation and offset; nil if there is
    /// none. Its count means nothing.
    package private(set) var highest: CountState?
    private var restored: RecordPosition?
    /// Accounts whose last restored record is lower than the known state, and those records: a former owner wrote them
    /// after its successor's. The known states must be written again.
    private(set) var stale: [AccountHash: (key: [UInt8], timestamp: Int64)] = [:]
    /// They have been restored, and the partition has been this shard's since: it knows them better than another
    /// changelog.
    package var areOwn = false

    package init(disk: Disk, budget: Int, undoes: Bool) {
        self.disk = disk
        secret = disk.secret
        self.budget = budget
        self.undoes = undoes
        highest = disk.highest
    }

    package func prefetch(_ account: AccountHash) { table.prefetch(account) }

    /// The next `load` brings the account into memory. Prefetches its cell.
    package mutating func want(_ account: AccountHash) {
        table.prefetch(account)
        wanted.append(account)
    }

    /// Brings all wanted accounts into memory with one read of the disk. Accounts found nowhere have a count of 0.
    /// False if the disk failed: nothing has changed, and the call may be repeated.
    package mutating func load() -> Bool {
        guard fetch(wanted) else { return false }
        wanted.removeAll(keepingCapacity: true)
        return true
    }

    private mutating func fetch(_ accounts: some Collection<AccountHash>) -> Bool {
        missing.removeAll(keepingCapacity: true)
        for account in accounts {
            if let cell = table.find(account) { table.touch(cell) } else { missing.append(account) }
        }
        if missing.isEmpty && table.byteCount <= tableBudget { return true }
        missing.sort()
        missing.removeRepeated { $0 == $1 }
        guard readMissing() else { return false }
        let isTight = table.count + missing.count > CountTable.room(min(table.capacity, mostCells))
        if isTight { makeRoom(for: accounts) }
        insertMissing(isTight)
        if isTight { for account in accounts { mark(account, isWanted: false) } }
        return true
    }

    private mutating func insertMissing(_ isTight: Bool) {
        let room = CountTable.room(min(table.capacity, mostCells))
        // `missing` and `found` are sorted, and all of `found` is in `missing`.
        var next = 0
        for account in missing {
            var state = CountState(count: 0)
            if next < found.count, found[next].account == account {
                state = found[next].state
                next += 1
            }
            var cell = CountCell(account, state)
            if isTight {
                cell.flags.insert(.wanted)
                // Twice, if nothing could be evicted for an earlier account.
                if table.count >= room, table.evict(near: account), table.count >= room {
                    _ = table.evict(near: account)
                }
                if table.isCrowded { table.resize(to: table.capacity / 4 * 5) }
            }
            table.insert(cell)
        }
    }

    private mutating func mark(_ account: AccountHash, isWanted: Bool) {
        guard let cell = table.find(account) else { return }
        if isWanted { table[cell].flags.insert(.wanted) } else { table[cell].flags.remove(.wanted) }
    }

    /// Fills `found`, sorted.
    private mutating func readMissing() -> Bool {
        found.removeAll(keepingCapacity: true)
        let asked = filter == nil ? missing : missing.filter { filter?.contains($0) ?? true }
        return asked.isEmpty || disk.read(asked, { found.append(CountRow($0, $1)) })
    }

    /// The live state; nil if the account is not in memory.
    package func state(of account: AccountHash) -> CountState? { table.find(account).map { table[$0].state } }

    /// The live state, read from the disk if it is not in memory; nil if the disk failed.
    mutating func loadedState(of account: AccountHash) -> CountState? {
        // Not by `state(of:)`, for which all of this would be copied.
        if let cell = table.find(account) { return table[cell].state }
        want(account)
        return load() ? state(of: account) : nil
    }

    /// Returns the account's previous unfinished entry, or 0; nil if the account is not in memory. `entry`, which must
    /// not be 0, keeps the account in memory.
    package mutating func change(_ account: AccountHash, to state: CountState, by entry: UInt32) -> UInt32? {
        precondition(entry != 0)
        guard let cell = table.find(account) else { return nil }
        var changed = table[cell]
        let (former, previous) = (changed.state, changed.entry)
        if former != state {
            if undoes, !changed.flags.contains(.changed) { undo.append(CountRow(account, former)) }
            changed.state = state
            changed.flags.insert(.changed)
        }
        changed.entry = entry
        table[cell] = changed
        return previous
    }

    /// The entry is finished. Ignored if a later entry has changed the account, or if the account is not in memory.
    package mutating func release(_ account: AccountHash, entry: UInt32) {
        guard let cell = table.find(account), table[cell].entry == entry else { return }
        table[cell].entry = 0
    }

    /// The changelog has acknowledged this state, which waits to be written behind. Of several, the latest is written.
    package mutating func stored(_ account: AccountHash, _ state: CountState) {
        note(state)
        let cell = table.find(account)
        // This state was published once more, and the account has moved on since.
        if let cell, state < table[cell].state, !table[cell].flags.contains(.changed) { return }
        rows.append(CountRow(account, state))
        if rows.count >= rowsToCompact { compactRows() }
        guard let cell else {
            // The account was evicted since it was read, or was never loaded.
            var stray = CountCell(account, state)
            stray.flags.insert(.pending)
            if table.isCrowded { table.resize(to: table.capacity / 4 * 5) }
            return table.insert(stray)
        }
        var stored = table[cell]
        stored.flags.insert(.pending)
        if stored.state <= state {
            stored.state = state
            stored.flags.remove(.changed)
        }
        table[cell] = stored
    }

    /// Rows that wait to be written behind. An account that was stored several times may count as often.
    package var pendingRows: Int { rows.count + writing.count - written }

    /// The disk makes its file anew for the pending rows. They are a good part of it, or have waited long; for a large
    /// file longer, so that a partition with few events writes at most 100 kB a second. The next owner reads what is
    /// not written from the changelog.
    package mutating func isWorthWriting(waited: Duration) -> Bool {
        guard pendingRows > 0 else { return false }
        return isWritingBehind
            || waited >= .seconds(10) + .microseconds(10 * CountRow.size * disk.rowCount)
            || hasManyPending
    }

    package var hasManyPending: Bool {
        mutating get {
            // They may all be of one busy account.
            if pendingRows >= disk.rowCount / 32 { compactRows() }
            return pendingRows >= disk.rowCount / 32
        }
    }

    /// Writes the pending rows, all at once or not at all, in rounds of several calls: each takes the time of `most`
    /// rows of the disk. A round writes the position given to its first call; nil keeps the disk's position. False if
    /// the write failed: nothing is lost, and the caller tries again.
    package mutating func writeBehind(_ most: Int = .max, at position: RecordPosition?) -> Bool {
        if most == .max { takeBackRows() }
        if writing.isEmpty {
            compactRows()
            if rows.isEmpty, position == nil || position == disk.position { return true }
            if disk.highest == nil, disk.position == nil, !rows.isEmpty { filter = CountFilter(bytes: budget / 16) }
            swap(&writing, &rows)
            writingPosition = position
            rowsToCompact = Self.fewestToCompact
        }
        if !isOnDisk {
            switch disk.write(writing, at: writingPosition, most: most) {
            case .failed:
                takeBackRows()
                return false
            case .begun: return true
            case .written: isOnDisk = true
            }
        }
        let piece = writing[written...].prefix(most)
        for row in piece {
            filter?.add(row.account)
            // If any rows wait, a later state of this account may be among them.
            guard let cell = table.find(row.account), rows.isEmpty || table[cell].state == row.state else { continue }
            table[cell].flags.remove(.pending)
        }
        written += piece.count
        guard written == writing.count else { return true }
        if filter?.isFull ?? false { filter = nil }
        writing.removeAll(keepingCapacity: writing.capacity <= Self.keptCapacity)
        (written, isOnDisk) = (0, false)
        rowsRefused = 0
        return true
    }

    /// A round is under way.
    package var isWritingBehind: Bool { !writing.isEmpty }

    private mutating func takeBackRows() {
        disk.giveUpWriting()
        rows.insert(contentsOf: writing[written...], at: 0)
        writing = []
        (written, isOnDisk) = (0, false)
    }

    /// Sorts the rows and keeps each account's latest, the last of equal ones. There are never more than twice as many
    /// rows as accounts.
    private mutating func compactRows() {
        sortRows()
        rows.removeRepeated { $0.account == $1.account }
        rowsToCompact = max(Self.fewestToCompact, rows.count * 2)
    }

    /// Sorts by account and state, stably. Hashes are spread evenly: in buckets by their highest bits, few rows of
    /// different accounts are left to be compared.
    private mutating func sortRows() {
        let shift = min(63, rows.count.leadingZeroBitCount + 3)
        func bucket(_ row: CountRow) -> Int { Int(truncatingIfNeeded: row.account.high >> UInt64(shift)) }
        // Where each bucket begins, then where it ends so far.
        var places = [Int](repeating: 0, count: 1 << (64 - shift) + 1)
        for row in rows { places[bucket(row) + 1] += 1 }
        for index in places.indices.dropFirst() { places[index] += places[index - 1] }
        let count = rows.count
        rows = [CountRow](unsafeUninitializedCapacity: count) { sorted, filled in
            for row in rows {
                sorted.initializeElement(at: places[bucket(row)], to: row)
                places[bucket(row)] += 1
            }
            filled = count
            var first = 0
            for end in places {
                Self.sort(UnsafeMutableBufferPointer(rebasing: sorted[first..<end]))
                first = end
            }
        }
    }

    /// This must be a stable sort, as the standard library's is.
    private static func sort(_ rows: UnsafeMutableBufferPointer<CountRow>) {
        var rows = rows
        rows.sort { $0.account == $1.account ? $0.state < $1.state : $0.account < $1.account }
    }

    private mutating func note(_ state: CountState) { highest = max(state, highest ?? state) }

    /// Keeps the changes since the last commit. All are in the changelog, and go to `stored` before the next change.
    package mutating func commitChanges() { undo.removeAll(keepingCapacity: true) }

    /// Resets live states to the last commit. With transactions an entry is finished as soon as it has changed a state.
    package mutating func rollBack() {
        for change in undo {
            guard let cell = table.find(change.account) else { continue }
            var undone = table[cell]
            undone.state = change.state
            undone.flags.remove(.changed)
            table[cell] = undone
        }
        undo.removeAll(keepingCapacity: true)
    }

    /// The disk's position, from which the changelog must be read; nil for its beginning.
    package mutating func beginRestore() -> RecordPosition? {
        restored = disk.position
        stale = [:]
        return restored
    }

    /// Applies a batch of the changelog, in order; `position` is that of its last record. Of an account's states the
    /// highest is kept, of equal ones the last. `key` returns the key of the row with this index. False if the disk
    /// failed: nothing has changed, and the call may be repeated.
    package mutating func restore(_ batch: [CountRow], at position: RecordPosition, key: (Int) -> [UInt8]) -> Bool {
        // Accounts of written rows may be evicted. The more rows are written at once, the less often the file is made
        // anew.
        if rows.count + batch.count > max(CountTable.smallest, budget / 8 / CountRow.size, rowsRefused * 2),
            !writeBehind(at: restored)
        {
            // The rows stay in memory, as later counts do.
            rowsRefused = rows.count
        }
        for row in batch { table.prefetch(row.account) }
        guard fetch(batch.lazy.map(\.account)) else { return false }
        for (index, row) in batch.enumerated() {
            guard let at = table.find(row.account) else { preconditionFailure("an account was fetched") }
            var cell = table[at]
            if row.state < cell.state {
                stale[row.account] = (key(index), max(0, position.timestamp))
                continue
            }
            if !stale.isEmpty { stale[row.account] = nil }
            note(row.state)
            if row.state == cell.state { continue }
            cell.state = row.state
            cell.flags.insert(.pending)
            table[at] = cell
            rows.append(row)
        }
        // A repeated restore, or the next process, must read the stale records again.
        if stale.isEmpty { restored = position }
        return true
    }

    /// Forgets everything, in memory and on disk: the changelog is another log, or the file is unreadable. False if the
    /// disk failed: nothing has changed.
    package mutating func restart() -> Bool {
        guard disk.clear() else { return false }
        table = CountTable()
        (wanted, rows, undo) = ([], [], [])
        (writing, written, isOnDisk) = ([], 0, false)
        (highest, restored, stale, areOwn) = (nil, nil, [:], false)
        rowsRefused = 0
        filter = nil
        return true
    }

    /// The rest of the budget is for the filter, and for rows during a restore.
    private var tableBudget: Int { budget / 16 * 13 }

    private var mostCells: Int { max(CountTable.smallest, tableBudget / MemoryLayout<CountCell>.stride) }

    /// Makes the table as large as the missing accounts need and the budget allows; accounts that must stay may exceed
    /// it. At that size, each new account evicts another.
    private mutating func makeRoom(for accounts: some Collection<AccountHash>) {
        for account in accounts { mark(account, isWanted: true) }
        let least = CountTable.capacity(for: (table.heldCount + missing.count) / 8 * 9)
        let whole = CountTable.capacity(for: table.count + missing.count)
        if table.capacity < mostCells {
            table.resize(to: max(least, min(mostCells, max(table.capacity * 2, whole))))
        } else if table.capacity < least {
            table.resize(to: least / 4 * 5)
        } else if table.capacity > mostCells, table.capacity > least / 4 * 5 {
            table.resize(to: max(mostCells, least / 4 * 5))
        }
    }
}

extension Array {
    /// Keeps the last of each run of equal neighbors.
    mutating func removeRepeated(_ isSame: (Element, Element) -> Bool) {
        var kept = 0
        for index in indices {
            if kept > 0, isSame(self[kept - 1], self[index]) { kept -= 1 }
            self[kept] = self[index]
            kept += 1
        }
        removeSubrange(kept...)
    }
}
