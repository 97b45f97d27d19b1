package import Push

/// The counts of one lane's active recipients, as the events that were processed left them: ahead of what is settled.
/// Without I/O; owned by the lane.
package struct LiveCounts: ~Copyable, Sendable {
    /// A recipient's place, good from `begin` to `end`.
    package struct Slot: Sendable {
        fileprivate let index: Int
        fileprivate let account: BadgeAccount
        /// The number of the next change.
        fileprivate let sequence: UInt32
        /// Before the message.
        package let count: Int32

        /// What goes with the delivery; `end` is then told the same operation. From any thread.
        package func change(_ operation: BadgeOperation) -> BadgeChange {
            BadgeChange(account: account, sequence: sequence, operation: operation)
        }
    }

    private struct Entry: Sendable {
        var account: BadgeAccount
        var hash: UInt32
        var count: Int32
        /// The number of the last change made.
        var sequence: UInt32 = 0
        /// A message is between `begin` and `end`.
        var isBusy = true
        /// Used again since the hand of the clock came by.
        var isRecent = false
    }

    private let capacity: Int
    private let progress: JournalProgress
    private var entries: [Entry] = []
    private var index = KeyIndex()
    private var hand = 0

    /// Holds up to `capacity` accounts, and more only while none may be forgotten.
    package init(capacity: Int, progress: JournalProgress = JournalProgress()) {
        self.capacity = max(1, capacity)
        self.progress = progress
    }

    /// Accounts in memory.
    package var accountCount: Int { entries.count }

    /// Takes the account for the message that begins; nil while another message has it, which only happens where the
    /// order asked for is not the recipient's. `load` reads the count of a recipient who is not in memory under this lease;
    /// what it throws leaves everything as it was.
    package mutating func begin(
        recipient: RawSpan, app: RawSpan, lease: CountLease, load: () throws(StoreError) -> Int32
    ) throws(StoreError) -> Slot? {
        let hash = KeyIndex.hash(recipient, app)
        if let found = index.find(hash, where: { entries[$0].account.is(recipient, app, lease) }) {
            guard !entries[found].isBusy else { return nil }
            entries[found].isBusy = true
            entries[found].isRecent = true
            synchronize(found)
            return slot(found)
        }
        let count = max(0, try load())
        let account = BadgeAccount(recipient: recipient, app: app, count: count, lease: lease)
        return slot(insert(Entry(account: account, hash: hash, count: count)))
    }

    private func slot(_ position: Int) -> Slot {
        let entry = entries[position]
        return Slot(
            index: position, account: entry.account, sequence: entry.sequence &+ 1, count: entry.count)
    }

    /// Ends what `begin` began, with what the message did to the count.
    package mutating func end(_ slot: Slot, _ operation: BadgeOperation?) {
        entries[slot.index].isBusy = false
        guard let operation else { return }
        entries[slot.index].count = operation.applied(to: entries[slot.index].count)
        entries[slot.index].sequence = slot.sequence
    }

    /// Where nothing is under way the settled count is the truth: changes that were given up are gone from it.
    private mutating func synchronize(_ position: Int) {
        let settled = entries[position].account.settled
        if settled.sequence == entries[position].sequence { entries[position].count = settled.count }
    }

    private mutating func insert(_ entry: Entry) -> Int {
        let position: Int
        if entries.count >= capacity, let free = evict() {
            position = free
            entries[free] = entry
        } else {
            position = entries.count
            entries.append(entry)
        }
        index.insert(entry.hash, position)
        return position
    }

    /// Forgets one account that has not been used for a while and that the table holds as it is, or whose lease is over.
    /// Looks at a few only, so that no message waits.
    private mutating func evict() -> Int? {
        let foldedThrough = progress.foldedThrough
        var isHeldByJournal = false
        for _ in 0..<min(64, 2 * entries.count) {
            hand = hand + 1 < entries.count ? hand + 1 : 0
            let entry = entries[hand]
            guard !entry.isBusy else { continue }
            if entry.account.lease.isOver { return forget(hand) }
            guard entry.account.settled.sequence == entry.sequence else { continue }
            guard entry.account.isStored(entry.sequence, foldedThrough: foldedThrough) else {
                isHeldByJournal = true
                continue
            }
            if entry.isRecent {
                entries[hand].isRecent = false
                continue
            }
            return forget(hand)
        }
        if isHeldByJournal { progress.wantRoom() }
        return nil
    }

    private mutating func forget(_ position: Int) -> Int {
        index.remove(entries[position].hash, position)
        return position
    }
}

extension BadgeAccount {
    fileprivate func `is`(_ recipient: RawSpan, _ app: RawSpan, _ lease: CountLease) -> Bool {
        self.lease === lease && key.equals(recipient, app)
    }
}
