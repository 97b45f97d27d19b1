import Push
package import Stores
import Synchronization
package import Telemetry

/// The counts of one instance: what its lanes share with the writer of its checkpoints.
package final class CountKeeper: Sendable {
    /// Accounts in memory, of all lanes together: some 250 bytes each.
    private static let capacity = 100_000

    private let state: StateFile
    private let progress: JournalProgress
    let log: Log
    private let isHeld = Atomic<Bool>(false)

    package init(_ state: StateFile, progress: JournalProgress, log: Log) {
        self.state = state
        self.progress = progress
        self.log = log
    }

    /// No checkpoint can be written: nothing more may be counted, or a restart would have ever more to repeat.
    var isOnHold: Bool {
        get { isHeld.load(ordering: .relaxed) }
        set { isHeld.store(newValue, ordering: .relaxed) }
    }

    /// The counts of one lane of so many.
    func lane(of lanes: Int) throws(StoreError) -> LaneCounts {
        LaneCounts(
            LiveCounts(capacity: Self.capacity / max(1, lanes), progress: progress), try BadgeReader(state), self)
    }
}
