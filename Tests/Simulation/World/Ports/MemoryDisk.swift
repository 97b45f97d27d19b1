package import PushmillStores

/// One partition's counts in a state folder. Everything written survives the process.
package final class DiskFile {
    let number: UInt64
    package var secret = AccountSecret(0, 0)
    package var rows: [AccountHash: CountState] = [:]
    package var position: RecordPosition?
    package var highest: CountState?
    /// Grows when a disk takes the file over: from then on earlier owners cannot write.
    package var owner = 0
    package var openings: UInt64 = 0
    package var isThere = false
    /// How many writes fail from now on.
    package var failures = 0
    /// The file before each of the last eight writes.
    private var past: [Copy] = []

    private struct Copy {
        let secret: AccountSecret
        let rows: [AccountHash: CountState]
        let position: RecordPosition?
        let highest: CountState?
        let isThere: Bool
    }

    package init(number: UInt64) { self.number = number }

    fileprivate func keep() {
        past.append(Copy(secret: secret, rows: rows, position: position, highest: highest, isThere: isThere))
        if past.count > 8 { past.removeFirst() }
    }

    /// Loses some of the last writes, which the machine had not brought to its disk yet.
    package func losePower(_ dice: inout Dice) {
        guard !past.isEmpty else { return }
        let copy = past[dice.below(past.count)]
        (secret, rows, position, highest) = (copy.secret, copy.rows, copy.position, copy.highest)
        isThere = copy.isThere
        past = []
    }
}

/// Like `CountFile`: the first write creates the file.
package final class MemoryDisk: CountDisk {
    private let file: DiskFile
    private let isAlive: () -> Bool
    private var owner = 0
    package let secret: AccountSecret
    package private(set) var position: RecordPosition?
    package private(set) var highest: CountState?
    package private(set) var isTaken = false

    package init(_ file: DiskFile, isAlive: @escaping () -> Bool) {
        self.file = file
        self.isAlive = isAlive
        file.openings += 1
        secret = file.isThere ? file.secret : AccountSecret(file.number, file.openings)
        if file.isThere { own() }
        (position, highest) = (file.position, file.highest)
    }

    private func own() {
        file.owner += 1
        file.isThere = true
        file.secret = secret
        owner = file.owner
    }

    package func read(_ accounts: [AccountHash], _ body: (AccountHash, CountState) -> Void) -> Bool {
        guard owner > 0 else { return true }
        guard file.secret == secret else { return false }
        for account in accounts {
            if let state = file.rows[account] { body(account, state) }
        }
        return true
    }

    package func write(_ rows: [(account: AccountHash, state: CountState)], at position: RecordPosition?) -> Bool {
        guard isAlive() else { return false }
        guard file.failures == 0 else {
            file.failures -= 1
            return false
        }
        guard takes() else { return false }
        file.keep()
        if owner == 0 { own() }
        for row in rows {
            file.rows[row.account] = row.state
            file.highest = max(file.highest ?? row.state, row.state)
        }
        file.position = position ?? self.position
        (self.position, highest) = (file.position, file.highest)
        return true
    }

    package func clear() -> Bool {
        guard isAlive(), takes() else { return false }
        file.keep()
        if owner > 0 { file.isThere = false }
        (file.rows, file.position, file.highest) = ([:], nil, nil)
        (owner, position, highest) = (0, nil, nil)
        return true
    }

    private func takes() -> Bool {
        isTaken = owner == 0 ? file.isThere : owner != file.owner
        return !isTaken
    }
}
