import Kafka

/// What other threads tell the polling one.
enum PollerMessage: Sendable {
    /// Answers `Committer.Request.read`.
    case positionsRead([TopicPartition], number: Int, [PartitionStart])
    /// Answers `commit`, of the `Committer` or the `Transactor`.
    case commitEnded(CommitOutcome, attempt: Int)
    /// Answers `commitAll`, likewise.
    case lastCommitEnded(CommitOutcome)
    /// Part of what a partition needs has been restored, its counts or its contacts, for the assignment of that number.
    case restored(Int32, number: Int)
    /// A transaction was aborted: state and input go back to the last commit. Answered by `Transactor.Request.rewound`.
    case rewind
    /// No output, no transaction or no commit can be made any more.
    case cannotGoOn(KafkaError)
    /// There is room again for more in flight.
    case room
    /// A signal to end.
    case terminate
}
