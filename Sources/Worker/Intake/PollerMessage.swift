import Kafka

/// What other threads tell the polling one.
enum PollerMessage: Sendable {
    /// Answers `Committer.Request.read`.
    case positionsRead([TopicPartition], number: Int, [PartitionStart])
    /// Answers `Committer.Request.commit`.
    case commitEnded(CommitOutcome, attempt: Int)
    /// Answers `Committer.Request.commitAll`.
    case lastCommitEnded(CommitOutcome)
    /// There is room again for more in flight.
    case room
    /// A signal to end.
    case terminate
}
