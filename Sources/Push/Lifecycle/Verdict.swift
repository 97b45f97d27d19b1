/// What becomes of a message now.
public struct Verdict: Sendable, Equatable {
    public enum Destination: Sendable { case output, deadLetters, nowhere }

    public let outcome: Outcome
    /// Where the delivery's `output` goes. `nowhere`: an expired message that is to be dropped.
    public let destination: Destination
    /// For dead letters.
    public let reason: DeadLetterReason?

    init(_ outcome: Outcome, to destination: Destination = .output, _ reason: DeadLetterReason? = nil) {
        self.outcome = outcome
        self.destination = destination
        self.reason = reason
    }
}
