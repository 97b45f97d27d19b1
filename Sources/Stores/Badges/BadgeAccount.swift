import Push
import Synchronization

/// One recipient's count in one app, as far as it is settled: acknowledged, or given up. Changes have numbers, 1 for the
/// account's first since it was loaded.
///
/// Written by the owner of `SettledCounts` only; a lane reads it.
package final class BadgeAccount: Sendable {
    /// A count and the number of the change that led to it.
    struct State: Equatable {
        var sequence: UInt32
        var count: Int32
    }

    let key: PairKey
    let lease: CountLease
    /// True while the account waits to be part of a checkpoint.
    let isUnsaved = Atomic<Bool>(false)
    private let settledBits: Atomic<UInt64>
    /// The number of the change that the last checkpoint held, and that of the checkpoint.
    private let savedBits = Atomic<UInt64>(0)
    /// The count that the last checkpoint held.
    private let savedCount: Atomic<Int32>

    init(recipient: RawSpan, app: RawSpan, count: Int32, lease: CountLease) {
        key = PairKey(recipient, app)
        self.lease = lease
        savedCount = Atomic(count)
        settledBits = Atomic(UInt64(UInt32(bitPattern: count)))
    }

    var settled: State {
        get {
            let bits = settledBits.load(ordering: .acquiring)
            return State(
                sequence: UInt32(truncatingIfNeeded: bits >> 32),
                count: Int32(truncatingIfNeeded: bits))
        }
        set {
            let bits = UInt64(newValue.sequence) << 32 | UInt64(UInt32(bitPattern: newValue.count))
            settledBits.store(bits, ordering: .releasing)
        }
    }

    /// Called when the state is in the checkpoint of this number.
    func saved(_ state: State, in checkpoint: UInt32) {
        savedCount.store(state.count, ordering: .relaxed)
        savedBits.store(UInt64(state.sequence) << 32 | UInt64(checkpoint), ordering: .releasing)
    }

    /// Undoes what the last checkpoint did not hold. Changes keep their numbers.
    func rollBack() {
        let state = State(sequence: settled.sequence, count: savedCount.load(ordering: .relaxed))
        settled = state
        saved(state, in: UInt32(truncatingIfNeeded: savedBits.load(ordering: .relaxed)))
    }

    /// True if a table holds the state to which this change led, so that the account can be forgotten.
    func isStored(_ sequence: UInt32, foldedThrough checkpoint: UInt32) -> Bool {
        let bits = savedBits.load(ordering: .acquiring)
        return UInt32(truncatingIfNeeded: bits >> 32) == sequence && UInt32(truncatingIfNeeded: bits) <= checkpoint
    }
}

/// What one event did to a count: it goes with the event's delivery and is settled once, when that has ended.
package struct BadgeChange: Sendable {
    let account: BadgeAccount
    let sequence: UInt32
    let operation: BadgeOperation
}
