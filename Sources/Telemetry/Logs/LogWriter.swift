import Glibc
import Synchronization

public enum LogFormat: String, Sendable, CaseIterable {
    /// Text on a terminal, else JSON.
    case auto
    case json
    case text
}

/// Writes the log's lines to a descriptor from its own thread, each line in one piece. If the output is blocked or
/// closed, only this thread waits: lines that the ring overwrites meanwhile are counted, and reported once the output
/// takes lines again.
public final class LogWriter: Sendable {
    private let log: Log
    private let output: Int32
    private let isText: Bool
    private let lines: Waker
    private let stop: Waker
    /// When to give up, in nanoseconds of the monotonic clock.
    private let deadline = Atomic(Int64.max)
    /// Only part of the last line was written: the next one starts with a line feed.
    private let isTorn = Atomic(false)
    private let thread = Mutex<Thread?>(nil)

    /// Starts with the oldest line in the ring. The caller keeps the output, standard error unless given.
    public init(_ log: Log, format: LogFormat = .auto, output: Int32 = 2) throws(TelemetryError) {
        self.log = log
        self.output = output
        isText = format == .text || format == .auto && isatty(output) == 1
        lines = try Waker()
        stop = try Waker()
        log.ring.subscribe(lines)
        let started = try Thread(named: "log") { [self] in run() }
        thread.withLock { $0 = started }
    }

    /// Writes the lines that are left, gives up after `limit`, and ends the thread. The log may still be used: its
    /// lines then stay in the ring.
    public func close(within limit: Duration = .seconds(1)) {
        guard let thread = thread.withLock({ $0.take() }) else { return }
        deadline.store(nanoseconds(of: CLOCK_MONOTONIC) + Int64(limit / .nanoseconds(1)), ordering: .releasing)
        stop.wake()
        thread.join()
        log.ring.unsubscribe(lines)
    }

    private func run() {
        var cursor = 0
        while true {
            lines.rearm()
            let isLast = deadline.load(ordering: .acquiring) != .max
            log.tellHeldBack(force: isLast)
            // Later lines wait for the next round: a caller that logs without end must not delay `close`.
            let end = log.ring.end
            while cursor < end { writeSome(from: &cursor) }
            if isLast { return }
            var events = [
                pollfd(fd: lines.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            // Some held-back lines may have to be reported.
            poll(&events, 2, 1_000)
        }
    }

    private func writeSome(from cursor: inout Int) {
        let (batch, missed) = log.ring.read(from: &cursor, limit: 64)
        if missed > 0 {
            log.counts.lost.add(missed)
            write(.loss(of: missed, time: batch.first?.time ?? 0))
        }
        for line in batch where !write(line) { log.counts.lost.add() }
    }

    /// A line is no longer than what the kernel takes in one piece once it reports room; a file or a socket may still
    /// take only part of it.
    @discardableResult
    private func write(_ line: LogLine) -> Bool {
        var bytes = isText ? line.text : line.json
        if isTorn.load(ordering: .relaxed) { bytes.insert(UInt8(ascii: "\n"), at: 0) }
        var done = 0
        defer { if done > 0 { isTorn.store(done < bytes.count, ordering: .relaxed) } }
        while done < bytes.count {
            guard waitForRoom() else { return false }
            let written = bytes.withUnsafeBytes {
                Glibc.write(output, $0.baseAddress?.advanced(by: done), $0.count - done)
            }
            if written > 0 {
                done += written
            } else if written < 0 && errno != EAGAIN && errno != EINTR {
                return false
            }
        }
        return true
    }

    /// False once the time to stop has passed.
    private func waitForRoom() -> Bool {
        while true {
            let end = deadline.load(ordering: .acquiring)
            let left = end == .max ? 0 : max(0, end &- nanoseconds(of: CLOCK_MONOTONIC))
            var events = [pollfd(fd: output, events: Int16(POLLOUT), revents: 0)]
            if end == .max { events.append(pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0)) }
            poll(&events, nfds_t(events.count), end == .max ? -1 : Int32(clamping: left / 1_000_000))
            if events[0].revents != 0 { return true }
            if end != .max && left == 0 { return false }
        }
    }
}

/// The most recent lines. Every reader has its own cursor into the one ring, so a slow reader costs no memory: it is
/// told how many lines it missed.
package final class LogRing: Sendable {
    private struct State {
        var lines: [LogLine] = []
        /// The number of the next line; line `n` lies at `n % capacity`.
        var next = 0
        var readers: [Waker] = []
    }

    private let capacity: Int
    private let state = Mutex(State())

    package init(capacity: Int) {
        precondition(capacity > 0)
        self.capacity = capacity
    }

    /// The cursor for a reader that wants only new lines.
    package var end: Int { state.withLock { $0.next } }

    package func append(_ line: LogLine) {
        let (_, readers) = state.withLock { state in
            var overwritten: LogLine?
            if state.lines.count < capacity {
                state.lines.append(line)
            } else {
                let index = state.next % capacity
                overwritten = state.lines[index]
                state.lines[index] = line
            }
            state.next += 1
            // The old line is released outside of the lock.
            return (overwritten, state.readers)
        }
        for reader in readers { reader.wake() }
    }

    /// Up to `limit` lines from the cursor, which moves past them, and how many before them were overwritten.
    package func read(from cursor: inout Int, limit: Int = .max) -> (lines: [LogLine], missed: Int) {
        state.withLock { state in
            let first = max(cursor, state.next - state.lines.count)
            let missed = first - cursor
            let last = first + min(state.next - first, max(0, limit))
            cursor = last
            return ((first..<last).map { state.lines[$0 % capacity] }, missed)
        }
    }

    /// Wakes this reader for every new line.
    package func subscribe(_ reader: Waker) {
        state.withLock { $0.readers.append(reader) }
    }

    package func unsubscribe(_ reader: Waker) {
        state.withLock { $0.readers.removeAll { $0 === reader } }
    }
}
