import CPushmillMicrohttpd
import Glibc

/// Drives libmicrohttpd. Everything in here, handlers and streams included, runs on the one thread that calls `run`.
final class AdminLoop {
    /// How often waiting streams are checked for new lines, in nanoseconds.
    private static let interval: Int64 = 100_000_000
    /// Bound on the `MHD_run` calls in a row while connections are being closed.
    private static let runsAtOnce = 16
    /// Milliseconds to wait if pending connections cannot be accepted.
    private static let pause: Int32 = 100

    let router: Router
    let limits: AdminLimits
    private(set) var isClosing = false
    /// Streams whose connection is suspended until the next check.
    private var waiting: [StreamBody] = []
    private var nextRound: Int64 = 0
    private var openStreams = 0
    fileprivate var hasClosedConnection = false
    /// A connection was opened or closed since the last wait.
    fileprivate var hasChanged = false
    fileprivate(set) var connections: Connections
    private var daemon: OpaquePointer?

    /// The daemon takes ownership of the socket.
    init(_ socket: ListeningSocket, _ router: Router, _ limits: AdminLimits) throws(TelemetryError) {
        self.router = router
        self.limits = limits
        connections = Connections(limits)
        // Room for new connections while old ones, already shut down, are still being closed.
        daemon = mhd_start(
            socket.descriptor, limits.connections + 64, limits.idleSeconds, limits.headBytes, handleRequest,
            completeRequest, noteConnection, Unmanaged.passUnretained(self).toOpaque())
        guard daemon != nil else { throw .cannotListen("\(socket.address)", errno) }
    }

    /// The daemon calls back into this object, so it is stopped first.
    deinit {
        if let daemon { MHD_stop_daemon(daemon) }
    }

    func run(until stop: Waker) {
        var isCalled = false
        while true {
            var runs = 0
            hasChanged = false
            repeat {
                hasClosedConnection = false
                MHD_run(daemon)
                runs += 1
                // At its limit libmicrohttpd does not watch the port; only another run makes it do so again. The bound
                // keeps deadlines checked even if connections come and go without end.
            } while hasClosedConnection && runs < Self.runsAtOnce
            // No descriptor is left for a pending connection: libmicrohttpd, with no connection open, keeps listening.
            let cannotTake = isCalled && !hasChanged && connections.isEmpty
            var events = [
                pollfd(fd: cannotTake ? -1 : mhd_descriptor(daemon), events: Int16(POLLIN), revents: 0),
                pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            poll(&events, 2, cannotTake ? Self.pause : hasClosedConnection ? 0 : timeout)
            isCalled = events[0].revents != 0
            if events[1].revents != 0 { break }
            let now = nanoseconds(of: CLOCK_MONOTONIC)
            connections.shutOverdue(now)
            guard now >= nextRound else { continue }
            nextRound = now + Self.interval
            resumeStreams()
        }
        isClosing = true
        resumeStreams()
        MHD_run(daemon)
        MHD_stop_daemon(daemon)
        daemon = nil
    }

    /// Milliseconds until libmicrohttpd, a waiting stream or a connection's deadline needs attention; -1 if none does.
    private var timeout: Int32 {
        var milliseconds: UInt64 = 0
        let daemons = MHD_get_timeout(daemon, &milliseconds) == .YES ? Int32(clamping: milliseconds) : -1
        let rounds = [waiting.isEmpty ? nil : nextRound, connections.nextEnd].compactMap(\.self)
        guard let next = rounds.min() else { return daemons }
        let left = Int32(clamping: max(0, next - nanoseconds(of: CLOCK_MONOTONIC)) / 1_000_000 + 1)
        return daemons < 0 ? left : min(left, daemons)
    }

    func begin(_ phase: Connections.Phase, of connection: OpaquePointer) {
        connections.begin(phase, of: connection, nanoseconds(of: CLOCK_MONOTONIC))
    }

    private func resumeStreams() {
        let now = nanoseconds(of: CLOCK_MONOTONIC)
        let asked = waiting
        waiting = []
        for body in asked {
            if isClosing || body.isDue(now) {
                MHD_resume_connection(body.connection)
            } else {
                waiting.append(body)
            }
        }
    }

    /// For a stream that has nothing to send: its connection is suspended until the next check.
    func suspend(_ body: StreamBody) {
        waiting.append(body)
        MHD_suspend_connection(body.connection)
    }

    /// False if the limit of open streams is reached.
    func openStream() -> Bool {
        guard openStreams < limits.streams else { return false }
        openStreams += 1
        return true
    }

    func closeStream() { openStreams -= 1 }
}

/// Called by libmicrohttpd when a connection is opened and when it is closed.
private func noteConnection(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_ConnectionNotificationCode
) {
    guard let context, let connection else { return }
    let loop = Unmanaged<AdminLoop>.fromOpaque(context).takeUnretainedValue()
    loop.hasChanged = true
    if code == .CONNECTION_NOTIFY_CLOSED {
        loop.hasClosedConnection = true
        loop.connections.closed(connection)
    } else {
        loop.connections.opened(connection, nanoseconds(of: CLOCK_MONOTONIC))
    }
}
