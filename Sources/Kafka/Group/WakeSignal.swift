internal import CPushmillRdKafka
internal import Glibc
internal import Synchronization

/// Where one thread waits for all of its sources. librdkafka's own waits do not work for that: a poll that does not
/// wait takes the wake-up (`rd_kafka_q_check_yield`) meant for the next wait.
package final class WakeSignal: Sendable {
    private enum State {
        static let idle: UInt8 = 0
        static let news: UInt8 = 1
        static let waiting: UInt8 = 2
    }

    private let state = Atomic<UInt8>(State.idle)
    nonisolated(unsafe) private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    nonisolated(unsafe) private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// For any thread. Costs one atomic exchange while the waiting thread is at work.
    package func wake() {
        guard state.exchange(State.news, ordering: .sequentiallyConsistent) == State.waiting else { return }
        pthread_mutex_lock(mutex)
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Returns once it was woken since the last call, or after that time. For the one thread that waits.
    package func wait(nanoseconds: Int64) {
        let (exchanged, _) = state.compareExchange(
            expected: State.idle, desired: State.waiting, ordering: .sequentiallyConsistent)
        if exchanged, nanoseconds > 0 { sleep(nanoseconds) }
        state.store(State.idle, ordering: .sequentiallyConsistent)
    }

    private func sleep(_ nanoseconds: Int64) {
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        let total = Int64(end.tv_nsec) + nanoseconds % 1_000_000_000
        end.tv_sec += Int(nanoseconds / 1_000_000_000 + total / 1_000_000_000)
        end.tv_nsec = Int(total % 1_000_000_000)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while state.load(ordering: .sequentiallyConsistent) == State.waiting {
            if pthread_cond_timedwait(condition, mutex, &end) != 0 { return }
        }
    }

    /// Wakes when something arrives in an empty queue. Must be ended before the signal or the queue is released.
    func watch(_ queue: OpaquePointer) {
        rd_kafka_queue_cb_event_enable(queue, onNews, Unmanaged.passUnretained(self).toOpaque())
    }

    static func endWatch(of queue: OpaquePointer) { rd_kafka_queue_cb_event_enable(queue, nil, nil) }
}

/// What other threads leave for the one that waits at the signal. That thread looks every turn, and locks only if there
/// is something.
package final class Mailbox<Element: Sendable>: Sendable {
    private let signal: WakeSignal
    private let content = Mutex<[Element]>([])
    private let isFull = Atomic<Bool>(false)

    package init(_ signal: WakeSignal) { self.signal = signal }

    package func post(_ element: Element) {
        content.withLock { $0.append(element) }
        isFull.store(true, ordering: .releasing)
        signal.wake()
    }

    /// What was posted since the last call, in order.
    package func take() -> [Element] {
        guard isFull.exchange(false, ordering: .acquiringAndReleasing) else { return [] }
        return content.withLock { exchange(&$0, with: []) }
    }
}

/// Called by librdkafka on any thread with the queue locked (`rd_kafka_q_io_event`); must not call back into it.
private func onNews(client: OpaquePointer?, opaque: UnsafeMutableRawPointer?) {
    guard let opaque else { return }
    Unmanaged<WakeSignal>.fromOpaque(opaque).takeUnretainedValue().wake()
}
