import Synchronization

/// The time in which counts are this instance's to keep. Where they belong to a partition it begins when the partition's
/// counts are whole here, and ends when the partition goes to another: what is in memory of it then says nothing more.
package final class CountLease: Sendable {
    /// nil for counts that belong to the instance.
    package let partition: Int32?
    private let hasEnded = Atomic<Bool>(false)

    package init(of partition: Int32? = nil) { self.partition = partition }

    package var isOver: Bool { hasEnded.load(ordering: .acquiring) }

    package func end() { hasEnded.store(true, ordering: .releasing) }
}
