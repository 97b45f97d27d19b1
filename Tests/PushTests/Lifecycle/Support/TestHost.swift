import Synchronization

@testable import Push

/// A lane that does nothing of its own: it has a count for everybody, and remembers who waited and until when.
final class TestHost: DeliveryHost {
    private let wakeUps = Mutex<[Instant]>([])
    private let currentCount: Mutex<Int32?>

    init(count: Int32? = 0) { currentCount = Mutex(count) }

    /// The `nextWakeUp` of each stage that was about to wait.
    var waits: [Instant] { wakeUps.withLock { $0 } }

    func setCount(_ count: Int32?) { currentCount.withLock { $0 = count } }

    func count(_ delivery: Delivery) -> Int32? { currentCount.withLock { $0 } }

    func willWait(_ delivery: Delivery) {
        let wakeUp = delivery.nextWakeUp
        wakeUps.withLock { $0.append(wakeUp) }
    }
}
