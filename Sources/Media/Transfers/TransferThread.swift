import Glibc
import Synchronization
import PushmillTelemetry

/// The thread of all transfers, as others see it.
final class TransferThread: Sendable {
    /// Shared with the thread, which outlives nobody's wish to end it.
    private final class Inbox: Sendable {
        /// To be started or, where nobody waits any more, cancelled; nil ends the thread.
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
        // Nobody but the thread has it from here on.
        nonisolated(unsafe) let loop = TransferLoop(means, multiplexer, report: report)
        thread = try Thread(named: "media") { Self.serve(inbox, loop) }
    }

    deinit {
        inbox.post(nil)
        thread.join()
    }

    func start(_ fetch: Fetch) { inbox.post(fetch) }

    /// Nobody waits for it any more. Nothing is reported then, unless it has just ended.
    func cancel(_ fetch: Fetch) {
        fetch.abandon()
        inbox.post(fetch)
    }

    private static func serve(_ inbox: Inbox, _ loop: TransferLoop) {
        while true {
            for fetch in inbox.take() {
                guard let fetch else { return }
                // Another thread may have posted it to be started after it was cancelled.
                if fetch.isAbandoned { loop.cancel(fetch) } else { loop.start(fetch) }
            }
            loop.turn()
        }
    }
}
