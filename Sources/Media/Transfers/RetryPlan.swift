import PushmillStages

/// When a transfer that broke is tried again, and whether at all.
struct RetryPlan {
    private static let patience = 4
    private static let first = 200_000_000.0
    private static let longest = 5_000_000_000.0

    /// Attempts in a row that brought nothing.
    private var fruitless = 0

    /// Nil: not within the limit. `jitter` from 0 to 1 keeps those that broke together from coming back together.
    mutating func next(
        now: Instant, limit: Instant, progressed: Bool, atLeast seconds: Int, jitter: Double
    ) -> Instant? {
        fruitless = progressed ? 0 : fruitless + 1
        guard fruitless < Self.patience else { return nil }
        let most = min(Self.longest, Self.first * Double(1 << fruitless))
        let wait = max(UInt64(most / 2 * (1 + jitter)), UInt64(min(max(seconds, 0), 3600)) * 1_000_000_000)
        let next = now.advanced(nanoseconds: wait)
        return next < limit ? next : nil
    }
}
