import Synchronization

/// The most recent lines. Every reader has a cursor of its own into the one ring, so a slow reader costs no memory: it
/// is told how many lines it has missed.
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

    /// The cursor of a reader that wants what comes from now on.
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

    /// Up to `limit` lines from the cursor on, which moves behind them, and how many were overwritten before.
    package func read(from cursor: inout Int, limit: Int = .max) -> (lines: [LogLine], missed: Int) {
        state.withLock { state in
            let first = max(cursor, state.next - state.lines.count)
            let missed = first - cursor
            let last = first + min(state.next - first, max(0, limit))
            cursor = last
            return ((first..<last).map { state.lines[$0 % capacity] }, missed)
        }
    }

    /// Wakes this reader for every line from now on.
    package func subscribe(_ reader: Waker) {
        state.withLock { $0.readers.append(reader) }
    }

    package func unsubscribe(_ reader: Waker) {
        state.withLock { $0.readers.removeAll { $0 === reader } }
    }
}
