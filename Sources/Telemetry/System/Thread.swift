import Glibc

/// A thread of our own, for work that blocks. It takes no signals, so a closed pipe is an error there and never a death.
package struct Thread: Sendable {
    private let handle: pthread_t

    /// `name` is what tools like `top -H` show; the kernel keeps 15 bytes of it.
    package init(named name: String, _ body: @escaping @Sendable () -> Void) throws(TelemetryError) {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        // A new thread has its creator's mask.
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        var handle = pthread_t()
        let context = Unmanaged.passRetained(Body(name, body))
        let code = pthread_create(&handle, nil, runThread, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw .noThread(code)
        }
        self.handle = handle
    }

    /// Waits for the end of the thread. Exactly once.
    package func join() { pthread_join(handle, nil) }
}

private final class Body: Sendable {
    private let name: String
    private let body: @Sendable () -> Void

    init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }

    func run() {
        nameThread()
        body()
    }

    /// The C library's call for it is not among those that Swift imports.
    private func nameThread() {
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = name.withCString { write(file, $0, strlen($0)) }
        close(file)
    }
}

/// The first and last function of the thread; takes over the reference that `pthread_create` was given.
private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
