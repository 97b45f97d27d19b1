/// Changelogs that brokers have cut under their owners, who must notice it by their next records, and write again what
/// is missing.
struct CutChangelogs {
    /// Those whose owners do not know it yet: where they ended, and the transactions that have written since.
    private var unnoticed: [Int32: (end: Int64, transactions: [Int])] = [:]
    private(set) var partitions: Set<Int32> = []
    /// Accounts that are in no record that is left. Their owners keep no names, and cannot write them again.
    private(set) var nameless: Set<[UInt8]> = []

    /// Called before the log is cut.
    mutating func add(_ log: PartitionLog, from offset: Int64) {
        let border = log.index(of: offset)
        partitions.insert(log.partition)
        unnoticed[log.partition] = log.entries.last { $0.account != nil }.map { ($0.offset + 1, []) }
        let left = Set(log.entries[..<border].filter(log.isVisible).compactMap(\.account))
        for account in log.entries[border...].compactMap(\.account) where !left.contains(account) {
            nameless.insert(account)
        }
    }

    mutating func noticed(_ partition: Int32) { unnoticed[partition] = nil }

    /// True if the owner cannot notice it any more: aborted transactions, whose records nobody has answered, have made
    /// up for what was lost.
    mutating func isHidden(by entry: PartitionLog.Entry, in partition: Int32, isCommitted: (Int) -> Bool) -> Bool {
        guard let (end, transactions) = unnoticed[partition] else { return false }
        if entry.offset < end, entry.transaction != 0 {
            unnoticed[partition]?.transactions.append(entry.transaction)
            return false
        }
        unnoticed[partition] = nil
        return entry.offset >= end && !transactions.contains(where: isCommitted)
    }
}
