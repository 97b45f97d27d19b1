/// Faults that can be planted in debug and simulation builds, one at a time, to prove that the simulation finds them.
/// Release builds contain neither the faults nor the code that asks for them.
package enum PlantedFault: String, CaseIterable, Sendable {
    /// A record is done as soon as its output is published.
    case commitBeforeAcknowledgement
    /// A transaction is committed although it holds outputs of a partition that was lost meanwhile.
    case commitOfFencedEpoch
    case offsetOfAbortedTransactionKept
    case countRestoredBeforeEnd
    /// Counts are restored from a neighboring partition of the changelog.
    case countOfWrongPartition
    case changelogAfterOffsets
    case redeliveredCountedAgain
    /// The producer runs without the gapless guarantee.
    case orderLostOnResend
    case deadlineBesideStage
    case revokedResultPublished
    /// A gap before a record counts as done without being read again, even after a seek.
    case gapTakenForDone
    case offsetsWithoutGroupMetadata
    /// A partition whose window is full is not paused.
    case pauseForgotten
    /// Counts are taken from this instance's own disk; the changelog is not read.
    case instanceOwnCounts
    /// A partition that comes back takes its counts as it left them.
    case staleCountsOnReturn
    /// Records that the client's batch call drops at a rebalance count as a gap in the log.
    case batchLossTakenForGap
    case wholeBatchDeadLettered
    /// Records are taken without checking that a commit has room for the offsets done beyond its position.
    case metadataOverflow
    /// No partition is read before the counts of all partitions are restored.
    case leaderlessHoldsUpAll
    case duplicateTakenForNewLog
    /// A recreated log is recognized only by its end.
    case longerLogTakenForOld
    /// Changelog records that brokers refuse for their timestamp are resent without switching to event time.
    case clockAheadAbortsForEver
    /// The number of records published and not committed is unbounded.
    case exposureUnbounded
    /// A producer that does not report all of its records is not replaced.
    case reportsAwaitedForEver
    /// An owner goes on with a changelog that has lost its last records as if it had not.
    case lostCountsUnnoticed
    /// While commits of one partition are denied, such as of one that is gone, those of the others are lost with them.
    case deniedCommitRepeated
    /// Messages run together although they have the same key.
    case sameKeyTogether

    #if PLANTED_FAULTS
        /// The fault of a run within `$planted.withValue`. Concurrent runs outside have none.
        @TaskLocal package static var planted: PlantedFault?

        @inline(__always)
        package static func isPlanted(_ fault: PlantedFault) -> Bool { planted == fault }
    #else
        @inline(__always)
        package static func isPlanted(_ fault: PlantedFault) -> Bool { false }
    #endif
}
