/// Faults that a build for the simulation can be made to have, one at a time, to show that they would be found. Every
/// other build has none of them, and nothing that asks for them.
package enum PlantedFault: String, CaseIterable, Sendable {
    case commitBeforeAcknowledgement
    case commitOfFencedEpoch
    case offsetOfAbortedTransactionKept
    case countRestoredBeforeEnd
    case countOfWrongPartition
    case changelogAfterOffsets
    case redeliveredCountedAgain
    case orderLostOnResend
    case deadlineBesideStage
    case revokedResultPublished
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
    case metadataOverflow
    case leaderlessHoldsUpAll
    case duplicateTakenForNewLog
    case clockAheadAbortsForEver

    #if PLANTED_FAULTS
        /// Set once, before the first shard begins.
        nonisolated(unsafe) package static var planted: PlantedFault?

        @inline(__always)
        package static func isPlanted(_ fault: PlantedFault) -> Bool { planted == fault }
    #else
        @inline(__always)
        package static func isPlanted(_ fault: PlantedFault) -> Bool { false }
    #endif
}
