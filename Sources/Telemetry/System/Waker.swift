import Glibc
import Synchronization

/// Wakes a thread that waits in `poll`. Waking one that is already awake costs one atomic exchange and no system call.
package final class Waker: Sendable {
    /// Readable once woken, until `rearm`.
    package let descriptor: Int32
    private let input: Int32
    private let isArmed = Atomic(true)

    package init() throws(TelemetryError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .noPipe(errno) }
        (descriptor, input) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
    }

    deinit {
        close(descriptor)
        close(input)
    }

    /// Any thread.
    package func wake() {
        guard isArmed.exchange(false, ordering: .acquiringAndReleasing) else { return }
        var byte: UInt8 = 0
        write(input, &byte, 1)
    }

    /// The waiting thread, before it looks for work: what comes after this call wakes it again.
    package func rearm() {
        var byte: UInt8 = 0
        while read(descriptor, &byte, 1) > 0 {}
        isArmed.store(true, ordering: .sequentiallyConsistent)
    }
}
