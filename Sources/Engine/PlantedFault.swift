/// Faults that a build for the simulation can be made to have, one at a time, to show that they would be found. Every
/// other build has none of them, and nothing that asks for them.
package enum PlantedFault: String, CaseIterable, Sendable {
    /// What is published is done.
    case commitBeforeAcknowledgement
    /// A transaction is committed that holds outputs of a partition which was lost since.
    case commitOfFencedEpoch
    case offsetOfAbortedTransactionKept
    case countRestoredBeforeEnd
    /// Counts are restored from a neighbour's changelog.
    case countOfWrongPartition
    case changelogAfterOffsets
    case redeliveredCountedAgain
    /// A producer without its gapless guarantee.
    case orderLostOnResend
    case deadlineBesideStage
    case revokedResultPublished
    /// A record that is not the next one is taken without another look, after a seek too.
    case gapTakenForDone
    case offsetsWithoutGroupMetadata
    /// A partition whose window is full is read on all the same.
    case pauseForgotten
    /// Counts are what this instance has on its own disk.
    case instanceOwnCounts
    /// Counts of a partition that comes back are taken as they were left.
    case staleCountsOnReturn
    /// What a batch call of the client loses at a rebalance counts as a gap in the log.
    case batchLossTakenForGap
    case wholeBatchDeadLettered
    /// Nobody asks whether a commit has room for what is done beyond its position.
    case metadataOverflow
    /// No partition is read before the counts of all are there.
    case leaderlessHoldsUpAll
    case duplicateTakenForNewLog
    /// A log that was made anew is told by its end alone.
    case longerLogTakenForOld
    /// Records of the changelog that brokers refuse for their time are sent again as they were.
    case clockAheadAbortsForEver
    /// What is published and not committed has no bound.
    case exposureUnbounded

    #if PLANTED_FAULTS
        /// Of runs that are played within `$planted.withValue`: others beside them have none.
        @TaskLocal package static var planted: PlantedFault?

        @inline(__always)
        package static func isPlanted(_ fault: PlantedFault) -> Bool { planted == fault }
    #else
        @inline(__always)
        package static func isPlanted(_ fault: PlantedFault) -> Bool { false }
    #endif
}
