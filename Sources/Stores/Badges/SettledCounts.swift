import Push
import Synchronization

/// Where a record came from: the partition under the number that the caller gave its assignment.
package struct SourceOffset: Sendable, Equatable {
    package let assignment: Int
    package let offset: Int64

    package init(assignment: Int, offset: Int64) {
        self.assignment = assignment
        self.offset = offset
    }
}

/// Turns acknowledgements, in whatever order they come, into counts as of each recipient's last acknowledged event.
/// Without I/O; owned by whoever owns the record of completed offsets, so that the two agree at any moment.
///
/// A change settles when all earlier ones of its account have. Until then its offset is held back too: a restart that
/// repeated an earlier event on top of a later one would count wrong.
package struct SettledCounts: ~Copyable, Sendable {
    private struct Ending: Sendable {
        let change: BadgeChange
        let source: SourceOffset
        var isAcknowledged: Bool
    }

    private var unsaved: [BadgeAccount] = []
    /// Ended before an earlier one, which only happens beside dead letters and lost partitions.
    private var early: [ObjectIdentifier: [Ending]] = [:]

    package init() {}

    /// The event's output is acknowledged. Releases its offset and any that waited for it.
    package mutating func acknowledge(_ change: BadgeChange, of source: SourceOffset, release: (SourceOffset) -> Void) {
        settle(Ending(change: change, source: source, isAcknowledged: true), release)
    }

    /// The event is left to the partition's next owner: its change is undone, and so are later ones of the same
    /// assignment, which the next owner will repeat in their order. Releases what waited for it from elsewhere.
    package mutating func giveUp(_ change: BadgeChange, of source: SourceOffset, release: (SourceOffset) -> Void) {
        early[ObjectIdentifier(change.account)] = early[ObjectIdentifier(change.account)]?.map { later in
            var later = later
            if later.source.assignment == source.assignment { later.isAcknowledged = false }
            return later
        }
        settle(Ending(change: change, source: source, isAcknowledged: false), release)
    }

    private mutating func settle(_ ending: Ending, _ release: (SourceOffset) -> Void) {
        let account = ending.change.account
        var state = account.settled
        let distance = Int32(bitPattern: ending.change.sequence &- state.sequence)
        guard distance > 0 else { return }
        guard distance == 1 else {
            early[ObjectIdentifier(account), default: []].append(ending)
            return
        }
        advance(&state, ending, release)
        if !early.isEmpty { advance(&state, followersOf: account, release) }
        account.settled = state
        guard !account.lease.isOver else { return }
        let wasUnsaved = account.isUnsaved.exchange(true, ordering: .relaxed)
        if !wasUnsaved { unsaved.append(account) }
    }

    private func advance(
        _ state: inout BadgeAccount.State, _ ending: Ending, _ release: (SourceOffset) -> Void
    ) {
        state.sequence = ending.change.sequence
        guard ending.isAcknowledged else { return }
        state.count = ending.change.operation.applied(to: state.count)
        release(ending.source)
    }

    private mutating func advance(
        _ state: inout BadgeAccount.State, followersOf account: BadgeAccount, _ release: (SourceOffset) -> Void
    ) {
        guard var waiting = early.removeValue(forKey: ObjectIdentifier(account)) else { return }
        while let found = waiting.firstIndex(where: { $0.change.sequence == state.sequence &+ 1 }) {
            advance(&state, waiting.remove(at: found), release)
        }
        if !waiting.isEmpty { early[ObjectIdentifier(account)] = waiting }
    }

    /// Back to what the last checkpoint held: what was acknowledged since has come to nothing. A batch that was under way
    /// has been put back, and nothing that was acknowledged before is going to be told after.
    package mutating func rollBack() {
        early = early.mapValues { endings in
            endings.map { Ending(change: $0.change, source: $0.source, isAcknowledged: false) }
        }
        for account in unsaved {
            account.rollBack()
            account.isUnsaved.store(false, ordering: .relaxed)
        }
        unsaved.removeAll(keepingCapacity: true)
    }

    /// What the next checkpoint has to hold. Ends in `saved` or `putBack`. Accounts whose lease is over are not ours to
    /// write.
    mutating func take() -> CountBatch {
        let accounts = unsaved
        unsaved.removeAll(keepingCapacity: true)
        for account in accounts { account.isUnsaved.store(false, ordering: .relaxed) }
        return CountBatch(counts: accounts.compactMap { $0.lease.isOver ? nil : ($0, $0.settled) })
    }

    /// The batch is not in the file: its accounts belong to the next one, as they are by then.
    mutating func putBack(_ batch: consuming CountBatch) {
        for (account, _) in batch.counts where !account.isUnsaved.exchange(true, ordering: .relaxed) {
            unsaved.append(account)
        }
    }
}

/// Counts of one moment.
struct CountBatch: ~Copyable, Sendable {
    let counts: [(account: BadgeAccount, state: BadgeAccount.State)]

    func saved(in checkpoint: UInt32) {
        for (account, state) in counts { account.saved(state, in: checkpoint) }
    }
}
