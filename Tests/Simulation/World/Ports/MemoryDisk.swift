package import Stores

/// What a state folder has of one partition's counts. It survives the process; what was written is there.
package final class DiskFile {
    package var rows: [AccountHash: CountState] = [:]
    package var position: ChangelogPosition?
    package var highest: CountState?
    /// How many writes fail from now on.
    package var failures = 0

    package init() {}
}

package final class MemoryDisk: CountDisk {
    private let file: DiskFile
    private let isAlive: () -> Bool

    package init(_ file: DiskFile, isAlive: @escaping () -> Bool) {
        self.file = file
        self.isAlive = isAlive
    }

    package var position: ChangelogPosition? { file.position }
    package var highest: CountState? { file.highest }

    package func read(_ accounts: [AccountHash], _ body: (AccountHash, CountState) -> Void) -> Bool {
        for account in accounts {
            if let state = file.rows[account] { body(account, state) }
        }
        return true
    }

    package func write(_ rows: [(account: AccountHash, state: CountState)], at position: ChangelogPosition?) -> Bool {
        guard isAlive() else { return false }
        guard file.failures == 0 else {
            file.failures -= 1
            return false
        }
        for row in rows {
            file.rows[row.account] = row.state
            file.highest = max(file.highest ?? row.state, row.state)
        }
        file.position = position ?? file.position
        return true
    }

    package func clear() -> Bool {
        guard isAlive() else { return false }
        file.rows = [:]
        file.position = nil
        file.highest = nil
        return true
    }
}
