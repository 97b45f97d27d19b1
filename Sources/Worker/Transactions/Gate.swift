import Glibc
import Synchronization

/// Keeps every thread from publishing while a transaction is ended.
final class Gate: Sendable {
    private let closed = Atomic<Bool>(true)
    private let doors = Mutex<[Door]>([])

    /// For one thread that publishes.
    func makeDoor() -> Door {
        let door = Door(self)
        doors.withLock { $0.append(door) }
        return door
    }

    /// Returns when nobody is inside any more. A thread is inside for one record, or while the producer's queue is full.
    func close() {
        closed.store(true, ordering: .sequentiallyConsistent)
        for door in doors.withLock({ $0 }) {
            while door.isInside.load(ordering: .sequentiallyConsistent) { usleep(50) }
        }
    }

    func open() { closed.store(false, ordering: .sequentiallyConsistent) }

    var isClosed: Bool { closed.load(ordering: .sequentiallyConsistent) }
}

/// One thread's way into the open transaction.
final class Door: Sendable {
    fileprivate let isInside = Atomic<Bool>(false)
    private let gate: Gate

    fileprivate init(_ gate: Gate) { self.gate = gate }

    /// False while the transaction is being ended. To be left in turn, soon.
    func enter() -> Bool {
        isInside.store(true, ordering: .sequentiallyConsistent)
        guard !gate.isClosed else {
            isInside.store(false, ordering: .sequentiallyConsistent)
            return false
        }
        return true
    }

    func leave() { isInside.store(false, ordering: .releasing) }
}
