/// What the group said to a commit, as far as it decides what comes next.
package enum CommitOutcome: Sendable {
    case accepted
    /// A rebalance is under way, or no answer came: worth another attempt.
    case retry
    /// Another member, or another generation of the group: never.
    case refused
}
