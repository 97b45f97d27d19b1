import Glibc
import Synchronization
import PushmillTelemetry

/// The thread of all transfers, as other threads use it.
final class TransferThread: Sendable {
    /// Shared with the thread, which `deinit` ends.
    private final class Inbox: Sendable {
        /// Fetches to start or, if abandoned, to cancel; nil ends the thread.
        let messages = Mutex<[Fetch?]>([])
        let waker: Waker

        init() throws(TelemetryError) { waker = try Waker() }

        func post(_ message: Fetch?) {
            messages.withLock { $0.append(message) }
            waker.wake()
        }

        func take() -> [Fetch?] {
            waker.rearm()
            return messages.withLock { exchange(&$0, with: []) }
        }
    }

    private let inbox: Inbox
    private let thread: Thread

    init(_ means: Means, report: @escaping @Sendable (Fetch, FetchResult) -> Void) throws(TelemetryError) {
        let inbox = try Inbox()
        self.inbox = inbox
        guard let multiplexer = Multiplexer(waker: inbox.waker.descriptor) else { throw .noThread(ENOMEM) }
        // From here on only the thread uses the loop.
        nonisolated(unsafe) let loop = TransferLoop(means, multiplexer, report: report)
        thread = try Thread(named: "media") { Self.serve(inbox, loop) }
    }

    deinit {
        inbox.post(nil)
        thread.join()
    }

    func start(_ fetch: Fetch) { inbox.post(fetch) }

    /// For a fetch that no caller waits for any more. Nothing is reported then, unless it has just ended.
    func cancel(_ fetch: Fetch) {
        fetch.abandon()
        inbox.post(fetch)
    }

    private static func serve(_ inbox: Inbox, _ loop: TransferLoop) {
        while true {
            for fetch in inbox.take() {
                guard let fetch else { return }
                // Another thread may have posted the start of a fetch after its cancellation.
                if fetch.isAbandoned { loop.cancel(fetch) } else { loop.start(fetch) }
            }
            loop.turn()
        }
    }
}
