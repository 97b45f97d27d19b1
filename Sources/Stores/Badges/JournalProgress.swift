import Synchronization

/// What lanes and the writer of the journal tell each other: an account can be forgotten once the checkpoint that holds
/// it has been folded into the table.
package final class JournalProgress: Sendable {
    private let folded = Atomic<UInt32>(0)
    private let roomWanted = Atomic<Bool>(false)

    package init() {}

    /// The last checkpoint that the table holds.
    package var foldedThrough: UInt32 {
        get { folded.load(ordering: .acquiring) }
        set { folded.store(newValue, ordering: .releasing) }
    }

    /// A lane would forget accounts if the journal were folded.
    func wantRoom() { roomWanted.store(true, ordering: .relaxed) }

    /// True once for any number of wishes.
    package func takeWish() -> Bool { roomWanted.exchange(false, ordering: .relaxed) }
}
