import Glibc
import Synchronization

/// Keeps every thread from publishing while a transaction is ended.
final class Gate: Sendable {
    /// What the doors look at: the gate holds them, and they do not hold the gate.
    fileprivate final class Leaf: Sendable {
        let isClosed = Atomic<Bool>(true)
    }

    private let leaf = Leaf()
    private let doors = Mutex<[Door]>([])

    /// For one thread that publishes.
    func makeDoor() -> Door {
        let door = Door(leaf)
        doors.withLock { $0.append(door) }
        return door
    }

    /// Returns when nobody is inside any more. A thread is inside for one record, or while the producer's queue is full.
    func close() {
        leaf.isClosed.store(true, ordering: .sequentiallyConsistent)
        for door in doors.withLock({ $0 }) {
            while door.isInside.load(ordering: .sequentiallyConsistent) { usleep(50) }
        }
    }

    func open() { leaf.isClosed.store(false, ordering: .sequentiallyConsistent) }

    var isClosed: Bool { leaf.isClosed.load(ordering: .sequentiallyConsistent) }
}

/// One thread's way into the open transaction.
final class Door: Sendable {
    fileprivate let isInside = Atomic<Bool>(false)
    private let leaf: Gate.Leaf

    fileprivate init(_ leaf: Gate.Leaf) { self.leaf = leaf }

    /// False while the transaction is being ended. To be left in turn, soon.
    func enter() -> Bool {
        isInside.store(true, ordering: .sequentiallyConsistent)
        guard !leaf.isClosed.load(ordering: .sequentiallyConsistent) else {
            isInside.store(false, ordering: .sequentiallyConsistent)
            return false
        }
        return true
    }

    func leave() { isInside.store(false, ordering: .releasing) }
}
