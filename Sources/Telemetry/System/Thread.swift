import Glibc
import Synchronization

/// A thread for blocking work. It blocks all signals: a closed pipe is an error there and never ends the process.
package struct Thread: Sendable {
    private let handle: pthread_t

    /// `name` is what tools like `top -H` show; the kernel keeps 15 bytes of it.
    package init(named name: String, _ body: @escaping @Sendable () -> Void) throws(TelemetryError) {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        // A new thread inherits its creator's mask.
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        var handle = pthread_t()
        let context = Unmanaged.passRetained(
            Body {
                nameThread(name)
                body()
            })
        let code = pthread_create(&handle, nil, runThread, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw .noThread(code)
        }
        self.handle = handle
    }

    /// Waits for the thread to end. Call exactly once.
    package func join() { pthread_join(handle, nil) }
}

private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Swift does not import the C library's function for this.
private func nameThread(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    _ = name.withCString { write(file, $0, strlen($0)) }
    close(file)
}

/// The thread's entry point; takes over the reference that `pthread_create` was given.
private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
    return nil
}

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

    /// From any thread.
    package func wake() {
        guard isArmed.exchange(false, ordering: .acquiringAndReleasing) else { return }
        var byte: UInt8 = 0
        write(input, &byte, 1)
    }

    /// Called by the waiting thread before it looks for work: a `wake` after this call wakes it again.
    package func rearm() {
        var byte: UInt8 = 0
        while read(descriptor, &byte, 1) > 0 {}
        isArmed.store(true, ordering: .sequentiallyConsistent)
    }
}
