package import PushmillStores

/// One partition's counts in a state folder. Everything written survives the process.
package final class DiskFile {
    let number: UInt64
    fileprivate(set) var content: Content?
    fileprivate var openings: UInt64 = 0
    /// How many writes fail from now on.
    package var failures = 0
    /// The file before each of the last eight writes.
    private var past: [Content?] = []
    private var dice: Dice
    /// How many calls of a write do nothing, per thousand.
    private var slowness = 0
    /// Some writes take many turns of their shard.
    package var isSlow: Bool

    struct Content {
        let secret: AccountSecret
        /// A row that cannot be read.
        var hole: AccountHash?
        var rows: [AccountHash: CountState] = [:]
        var position: RecordPosition?
        var highest: CountState?
    }

    package init(number: UInt64, dice: Dice, isSlow: Bool) {
        self.number = number
        self.dice = dice
        self.isSlow = isSlow
    }

    package var rows: [AccountHash: CountState] { content?.rows ?? [:] }

    fileprivate func replace(by content: Content?) {
        past.append(self.content)
        if past.count > 8 { past.removeFirst() }
        self.content = content
    }

    /// Loses some of the last writes, which the machine had not brought to its disk yet, or the file, or part of it.
    package func losePower(_ dice: inout Dice) {
        guard !past.isEmpty else { return }
        content = past[dice.below(past.count)]
        past = []
        if let content, !content.rows.isEmpty, self.dice.chance(300) {
            self.content?.hole = self.dice.pick(content.rows.keys.sorted())
        }
    }

    fileprivate func beginWrite() { slowness = isSlow ? dice.pick([0, 900, 990]) : 0 }

    /// How many rows a call writes.
    fileprivate func piece() -> Int { dice.chance(slowness) ? 0 : dice.between(1...3) }
}

/// Like `CountFile`: the first write creates the file, and each makes another one.
package final class MemoryDisk: CountDisk {
    private let file: DiskFile
    private let isAlive: () -> Bool
    /// The file that this disk has opened or made: another one may have made one since.
    private var content: DiskFile.Content?
    /// The rows that `write` has left to do.
    private var left: Int?
    package private(set) var isDamaged = false
    package let secret: AccountSecret
    package var position: RecordPosition? { content?.position }
    package var highest: CountState? { content?.highest }
    package var rowCount: Int { content?.rows.count ?? 0 }

    package init(_ file: DiskFile, isAlive: @escaping () -> Bool) {
        self.file = file
        self.isAlive = isAlive
        file.openings += 1
        content = file.content
        secret = content?.secret ?? AccountSecret(file.number, file.openings)
    }

    package func read(_ accounts: [AccountHash], _ body: (AccountHash, CountState) -> Void) -> Bool {
        if let hole = content?.hole, accounts.contains(hole) { isDamaged = true }
        if isDamaged { return false }
        for account in accounts {
            if let state = content?.rows[account] { body(account, state) }
        }
        return true
    }

    package func write(
        _ rows: [CountRow], at position: RecordPosition?, most: Int
    ) -> CountWrite {
        guard isAlive(), !isDamaged, file.failures == 0 else {
            if isAlive(), file.failures > 0 { file.failures -= 1 }
            left = nil
            return .failed
        }
        if left == nil { file.beginWrite() }
        left = max(0, (left ?? rowCount + rows.count) - (most == .max ? most : file.piece()))
        guard left == 0 else { return .begun }
        left = nil
        // Only a position is written without reading the file.
        if content?.hole != nil, !rows.isEmpty { isDamaged = true }
        if isDamaged { return .failed }
        var next = content ?? DiskFile.Content(secret: secret)
        for row in rows {
            next.rows[row.account] = row.state
            next.highest = max(next.highest ?? row.state, row.state)
        }
        next.position = position ?? next.position
        content = next
        file.replace(by: next)
        return .written
    }

    package func giveUpWriting() { left = nil }

    package func clear() -> Bool {
        guard isAlive() else { return false }
        left = nil
        if content != nil { file.replace(by: nil) }
        content = nil
        isDamaged = false
        return true
    }
}
