import Glibc

@testable import PushmillTelemetry

extension Log {
    /// The messages that the log still holds.
    var messages: [String] {
        var cursor = 0
        return ring.read(from: &cursor).lines.map { "\($0.message)" }
    }

    /// Returns when the log has a line with this message. Every new line wakes the wait.
    func wait(for message: String, within limit: Duration = .seconds(60)) async throws {
        try await elsewhere { try self.block(until: message, within: limit) }
    }

    /// As `wait`, on a thread that may block.
    func block(until message: String, within limit: Duration = .seconds(60)) throws {
        let lines = try Waker()
        ring.subscribe(lines)
        defer { ring.unsubscribe(lines) }
        let end = ContinuousClock.now + limit
        while true {
            lines.rearm()
            if messages.contains(message) { return }
            guard .now < end else { throw Overdue(what: message, limit: limit) }
            var event = pollfd(fd: lines.descriptor, events: Int16(POLLIN), revents: 0)
            poll(&event, 1, 1000)
        }
    }
}
