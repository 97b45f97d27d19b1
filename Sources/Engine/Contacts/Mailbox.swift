import Glibc
import PushmillStages

/// Hands values from any thread to one that waits for them, as many at once as there are.
///
/// Unchecked because a condition needs a POSIX mutex: every access to the state is under it, whatever is posted.
final class Mailbox<Element: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var elements: [Element] = []

    init() {
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

    func post(_ element: Element) {
        pthread_mutex_lock(mutex)
        let wasEmpty = elements.isEmpty
        elements.append(element)
        pthread_mutex_unlock(mutex)
        if wasEmpty { pthread_cond_signal(condition) }
    }

    /// Moves everything into `batch`, which must be empty and whose storage is used in turn; waits for the first element
    /// until that time.
    func take(into batch: inout [Element], until limit: Instant) {
        pthread_mutex_lock(mutex)
        while elements.isEmpty {
            guard limit != .never else {
                pthread_cond_wait(condition, mutex)
                continue
            }
            var time = timespec()
            time.tv_sec = Int(limit.nanoseconds / 1_000_000_000)
            time.tv_nsec = Int(limit.nanoseconds % 1_000_000_000)
            if pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { break }
        }
        swap(&elements, &batch)
        pthread_mutex_unlock(mutex)
    }
}
