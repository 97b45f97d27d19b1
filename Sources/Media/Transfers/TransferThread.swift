import Glibc
import Synchronization
import PushmillTelemetry

/// The thread of all transfers, as others see it.
final class TransferThread: Sendable {
    private enum Message {
        case start(Fetch)
        case cancel(Fetch)
        case stop
    }

    /// Shared with the thread, which outlives nobody's wish to end it.
    private final class Inbox: Sendable {
        let messages = Mutex<[Message]>([])
        let waker: Waker

        init() throws(TelemetryError) { waker = try Waker() }

        func post(_ message: Message) {
            messages.withLock { $0.append(message) }
            waker.wake()
        }

        func take() -> [Message] {
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
        inbox.post(.stop)
        thread.join()
    }

    func start(_ fetch: Fetch) { inbox.post(.start(fetch)) }

    /// Nobody waits for it any more. Nothing is reported then, unless it has just ended.
    func cancel(_ fetch: Fetch) {
        // Another thread may be about to start it.
        fetch.abandon()
        inbox.post(.cancel(fetch))
    }

    private static func serve(_ inbox: Inbox, _ loop: TransferLoop) {
        while true {
            for message in inbox.take() {
                switch message {
                case .start(let fetch): loop.start(fetch)
                case .cancel(let fetch): loop.cancel(fetch)
                case .stop: return
                }
            }
            loop.turn()
        }
    }
}
