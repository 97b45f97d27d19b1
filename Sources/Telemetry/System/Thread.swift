import Glibc

/// A thread of our own, for work that blocks. It takes no signals, so a closed pipe is an error there and never a death.
package struct Thread: Sendable {
    private let handle: pthread_t

    package init(_ body: @escaping @Sendable () -> Void) throws(TelemetryError) {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        // A new thread has its creator's mask.
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        var handle = pthread_t()
        let context = Unmanaged.passRetained(Body(body))
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
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// The first and last function of the thread; takes over the reference that `pthread_create` was given.
private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
