import PushmillStores

/// A disk in memory that can be told to fail.
final class MemoryDisk: CountDisk {
    let secret = AccountSecret(1, 2)
    private(set) var rows: [AccountHash: CountState] = [:]
    private(set) var position: RecordPosition?
    private(set) var highest: CountState?
    private(set) var reads = 0
    private(set) var writes = 0
    var isFailing = false
    /// Reads succeed, and writes fail.
    var isFull = false
    /// The next write finds its rows damaged.
    var hasHole = false
    private(set) var isDamaged = false
    /// The rows that `write` has left to do.
    private var left: Int?
    var rowCount: Int { rows.count }

    func read(_ accounts: [AccountHash], _ body: (AccountHash, CountState) -> Void) -> Bool {
        reads += 1
        if isDamaged { return false }
        for (index, account) in accounts.enumerated() {
            // A failing read may stop halfway.
            if isFailing, index == accounts.count / 2 { return false }
            if let state = rows[account] { body(account, state) }
        }
        return !isFailing
    }

    func write(
        _ rows: [CountRow], at position: RecordPosition?, most: Int
    ) -> CountWrite {
        precondition(zip(rows, rows.dropFirst()).allSatisfy { $0.account < $1.account }, "sorted, each once")
        if hasHole { isDamaged = true }
        if isFailing || isFull || isDamaged {
            left = nil
            return .failed
        }
        left = max(0, (left ?? self.rows.count + rows.count) - most)
        guard left == 0 else { return .begun }
        left = nil
        writes += 1
        for row in rows {
            self.rows[row.account] = row.state
            if let highest, row.state <= highest { continue }
            highest = row.state
        }
        self.position = position ?? self.position
        return .written
    }

    func giveUpWriting() { left = nil }

    func clear() -> Bool {
        if isFailing { return false }
        left = nil
        (rows, position, highest) = ([:], nil, nil)
        (hasHole, isDamaged) = (false, false)
        return true
    }
}

/// The account of a number. Accounts are spread as hashes are.
func account(_ number: Int) -> AccountHash {
    withUnsafeBytes(of: number) { AccountSecret(1, 2).hash($0) }
}

func position(_ offset: Int64) -> RecordPosition { RecordPosition(partition: 3, offset: offset, timestamp: 7) }
