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
    /// nil where counts belong to partitions.
    let ownLease: CountLease?
    private let leases = Mutex<[Int32: CountLease]>([:])

    /// `perPartition`: each partition's counts are its own, and here from `begin` to `end` only.
    package init(_ state: StateFile, progress: JournalProgress, perPartition: Bool = false, log: Log) {
        self.state = state
        self.progress = progress
        self.log = log
        ownLease = perPartition ? nil : CountLease()
    }

    /// The partition's counts in the store are whole. What lanes know of them from before is forgotten.
    func begin(_ partition: Int32) {
        let earlier = leases.withLock { $0.updateValue(CountLease(of: partition), forKey: partition) }
        earlier?.end()
    }

    /// The partition goes to another: nothing of it is counted here, nor part of a checkpoint any more.
    func end(_ partition: Int32) {
        let lease = leases.withLock { $0.removeValue(forKey: partition) }
        lease?.end()
    }

    /// nil for a partition that is not ours to count.
    func lease(of partition: Int32) -> CountLease? { leases.withLock { $0[partition] } }

    /// No checkpoint can be written: nothing more may be counted, or a restart would have ever more to repeat.
    var isOnHold: Bool { isHeld.load(ordering: .relaxed) }

    /// A checkpoint could be written, or not. For the thread that writes them.
    func wrote(_ works: Bool) {
        guard isOnHold == works else { return }
        isHeld.store(!works, ordering: .relaxed)
        if works { log.info("checkpoints are written again") }
    }

    /// The counts of one lane of so many.
    func lane(of lanes: Int) throws(StoreError) -> LaneCounts {
        LaneCounts(
            LiveCounts(capacity: Self.capacity / max(1, lanes), progress: progress), try BadgeReader(state), self)
    }
}
