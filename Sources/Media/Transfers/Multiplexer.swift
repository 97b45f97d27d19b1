import CPushmillCurl
import Glibc
import PushmillStages

/// The exchanges in progress, and the sockets they wait for. Belongs to the transfers' thread.
final class Multiplexer {
    /// How many connections there may be at once: with TLS, each takes 90 kB of memory.
    static var connections: Int { min(2048, Descriptors.share) }

    private let multi: UnsafeMutableRawPointer
    private let poll: Int32
    private let waker: Int32
    /// When libcurl wants to be called even if no socket is ready.
    fileprivate var timer = Instant.never
    private var events = [epoll_event](repeating: epoll_event(), count: 256)

    /// `waker` ends a wait by becoming readable. Nil if the system refuses.
    init?(waker: Int32) {
        guard curl_start() == CURLE_OK, let multi = curl_multi_init() else { return nil }
        self.multi = multi
        self.waker = waker
        poll = epoll_create1(Int32(EPOLL_CLOEXEC))
        curl_multi_set_callbacks(multi, watchSocket, moveTimer, Unmanaged.passUnretained(self).toOpaque())
        // `HostShares` lets no more begin, but connections are kept for later exchanges.
        curl_multi_set_number(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, Self.connections)
        guard poll >= 0, watch(waker, EPOLLIN.rawValue) else { return nil }
    }

    deinit {
        curl_multi_cleanup(multi)
        close(poll)
    }

    func add(_ exchange: Exchange) { curl_multi_add_handle(multi, exchange.handle) }

    /// May be called at any time; must be called before an exchange is released.
    func remove(_ exchange: Exchange) { curl_multi_remove_handle(multi, exchange.handle) }

    /// Waits until an exchange can go on, the waker is readable or `limit` has come, then lets exchanges go on.
    func wait(until limit: Instant) {
        let next = min(timer, limit)
        let patience = next.nanoseconds(since: TimeSource.system.now)
        let milliseconds = next == .never ? -1 : Int32(clamping: patience / 1_000_000 + 1)
        let count = epoll_wait(poll, &events, Int32(events.count), patience == 0 ? 0 : milliseconds)
        var running: Int32 = 0
        for event in events.prefix(max(0, Int(count))) where event.data.fd != waker {
            curl_multi_socket_action(multi, event.data.fd, Self.changes(event.events), &running)
        }
        if timer <= TimeSource.system.now {
            timer = .never
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
        }
    }

    /// Exchanges that have ended, one per call; the caller must remove each.
    func nextEnded() -> (Exchange, CURLcode)? {
        var code = CURLE_OK
        guard let handle = curl_multi_next_ended(multi, &code), let exchange = Exchange.of(curl_context(handle)) else {
            return nil
        }
        return (exchange, code)
    }

    private static func changes(_ events: UInt32) -> Int32 {
        var changes: Int32 = 0
        if events & EPOLLIN.rawValue != 0 { changes |= CURL_CSELECT_IN }
        if events & EPOLLOUT.rawValue != 0 { changes |= CURL_CSELECT_OUT }
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { changes |= CURL_CSELECT_ERR }
        return changes
    }

    @discardableResult
    fileprivate func watch(_ descriptor: Int32, _ wanted: UInt32) -> Bool {
        var event = epoll_event(events: wanted, data: epoll_data_t(fd: descriptor))
        return epoll_ctl(poll, EPOLL_CTL_MOD, descriptor, &event) == 0
            || epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    fileprivate func forget(_ descriptor: Int32) {
        var event = epoll_event()
        epoll_ctl(poll, EPOLL_CTL_DEL, descriptor, &event)
    }
}

/// Called by libcurl when it waits for other events of a socket than before.
private func watchSocket(
    _ handle: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ wanted: Int32,
    _ context: UnsafeMutableRawPointer?, _ ours: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    let multiplexer = Unmanaged<Multiplexer>.fromOpaque(context).takeUnretainedValue()
    switch wanted {
    case CURL_POLL_IN: multiplexer.watch(descriptor, EPOLLIN.rawValue)
    case CURL_POLL_OUT: multiplexer.watch(descriptor, EPOLLOUT.rawValue)
    case CURL_POLL_INOUT: multiplexer.watch(descriptor, EPOLLIN.rawValue | EPOLLOUT.rawValue)
    default: multiplexer.forget(descriptor)
    }
    return 0
}

/// Called by libcurl to change when it wants to be called; -1 means never.
private func moveTimer(
    _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    let multiplexer = Unmanaged<Multiplexer>.fromOpaque(context).takeUnretainedValue()
    multiplexer.timer = milliseconds < 0 ? .never : TimeSource.system.now + .milliseconds(milliseconds)
    return 0
}
