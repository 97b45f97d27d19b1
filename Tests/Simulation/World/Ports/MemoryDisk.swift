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

    struct Content {
        let secret: AccountSecret
        var rows: [AccountHash: CountState] = [:]
        var position: RecordPosition?
        var highest: CountState?
    }

    package init(number: UInt64) { self.number = number }

    package var rows: [AccountHash: CountState] { content?.rows ?? [:] }

    fileprivate func replace(by content: Content?) {
        past.append(self.content)
        if past.count > 8 { past.removeFirst() }
        self.content = content
    }

    /// Loses some of the last writes, which the machine had not brought to its disk yet, or the file.
    package func losePower(_ dice: inout Dice) {
        guard !past.isEmpty else { return }
        content = past[dice.below(past.count)]
        past = []
    }
}

/// Like `CountFile`: the first write creates the file, and each makes another one.
package final class MemoryDisk: CountDisk {
    private let file: DiskFile
    private let isAlive: () -> Bool
    /// The file that this disk has opened or made: another one may have made one since.
    private var content: DiskFile.Content?
    /// The rows that `write` has left to do.
    private var left: Int?
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
        for account in accounts {
            if let state = content?.rows[account] { body(account, state) }
        }
        return true
    }

    package func write(
        _ rows: [(account: AccountHash, state: CountState)], at position: RecordPosition?, most: Int
    ) -> CountWrite {
        guard isAlive(), file.failures == 0 else {
            if isAlive() { file.failures -= 1 }
            left = nil
            return .failed
        }
        left = max(0, (left ?? rowCount + rows.count) - most)
        guard left == 0 else { return .begun }
        left = nil
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
        return true
    }
}
