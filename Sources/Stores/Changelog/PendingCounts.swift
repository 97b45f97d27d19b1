/// What was committed and is not in the store yet, the latest of each account only. Without I/O.
package struct PendingCounts {
    private(set) var counts: [ObjectIdentifier: (account: BadgeAccount, count: Int32)] = [:]
    private(set) var positions: [Int32: RecordPosition] = [:]

    package init() {}

    /// Accounts.
    package var count: Int { counts.count }

    package var isEmpty: Bool { counts.isEmpty && positions.isEmpty }

    package mutating func add(_ changes: CountChanges, upTo positions: [RecordPosition]) {
        // A commit may be told so late that its partition has been another's: what is left out is read again.
        var gone: Set<Int32> = []
        for (account, state) in changes.counts {
            if account.lease.isOver, let partition = account.lease.partition {
                gone.insert(partition)
            } else {
                counts[ObjectIdentifier(account)] = (account, state.count)
            }
        }
        for position in positions where !gone.contains(position.partition) {
            self.positions[position.partition] = position
        }
    }

    /// The partition is another's to count.
    package mutating func remove(_ partition: Int32) {
        counts = counts.filter { $0.value.account.lease.partition != partition }
        positions[partition] = nil
    }

    package mutating func removeAll() {
        counts.removeAll(keepingCapacity: true)
        positions.removeAll(keepingCapacity: true)
    }
}
