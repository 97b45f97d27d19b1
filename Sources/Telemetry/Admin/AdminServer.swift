import Synchronization

/// What a client may cost.
package struct AdminLimits: Sendable {
    package var connections: UInt32 = 256
    /// Streams at the same time, such as followers of the log.
    package var streams = 128
    /// A connection on which nothing moves for so long is closed; also one whose client does not read.
    package var idleSeconds: UInt32 = 30
    /// How long a request may take to come, head and body, on a new connection or after an answer.
    package var request = Duration.seconds(5)
    /// How long an answer may take to be read, unless it is a stream.
    package var answer = Duration.seconds(30)
    /// A request line with its headers.
    package var headBytes = 16 << 10
    package var bodyBytes = 1 << 10

    package init() {}

    var requestNanoseconds: Int64 { Int64(request / .nanoseconds(1)) }
    var answerNanoseconds: Int64 { Int64(answer / .nanoseconds(1)) }
}

/// The HTTP endpoint of the operators, on a thread of its own.
package final class AdminServer: Sendable {
    /// Where it really listens.
    package let address: ListenAddress
    private let stop: Waker
    private let thread = Mutex<Thread?>(nil)

    /// Listens when this returns.
    package init(
        _ address: ListenAddress, _ router: Router, limits: AdminLimits = AdminLimits()
    ) throws(TelemetryError) {
        let stop = try Waker()
        let socket = try ListeningSocket(address)
        // From here on only the thread uses it.
        nonisolated(unsafe) let loop = try AdminLoop(socket, router, limits)
        let started = try Thread(named: "admin") { loop.run(until: stop) }
        self.stop = stop
        self.address = socket.address
        thread.withLock { $0 = started }
    }

    deinit { close() }

    /// Ends streams, closes every connection and the port.
    package func close() {
        guard let thread = thread.withLock({ $0.take() }) else { return }
        stop.wake()
        thread.join()
    }
}
