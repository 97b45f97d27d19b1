import PushmillStages

/// With transactions: how many outputs and changes may be unanswered before no more messages are taken. Slow brokers may
/// take longer for all that there is memory for than a transaction may last, and every transaction would be aborted: half
/// as much is tried after one in which records timed out, and twice as much after one that was committed soon.
struct OutputWindow {
    private static let soon = Duration.seconds(1)

    private let least: Int
    private let most: Int
    private var size: Int
    private var hasShrunk = false
    /// When the last transaction took no more outputs.
    private var closed = Instant.past

    init(most: Int) {
        self.most = most
        least = min(16, most)
        size = most
    }

    func hasRoom(beside unanswered: Int) -> Bool { size == most || unanswered < size }

    mutating func transactionBegan() { hasShrunk = false }

    mutating func transactionClosed(now: Instant) { closed = now }

    mutating func transactionCommitted(now: Instant) {
        if now < closed + Self.soon { size = min(most, size * 2) }
    }

    /// So many were unanswered when the first of them timed out.
    mutating func recordsTimedOut(_ unanswered: Int) {
        guard !hasShrunk else { return }
        hasShrunk = true
        size = max(least, min(size, unanswered) / 2)
    }
}
