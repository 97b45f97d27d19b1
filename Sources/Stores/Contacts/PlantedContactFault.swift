/// Faults that can be planted in the following of a contacts topic, as `PlantedFault`s are in a shard.
package enum PlantedContactFault: String, CaseIterable, Sendable {
    /// A log is read on from where the store is, whatever it has before that.
    case logNotCompared
    /// One record that is as before is enough.
    case oneMarkIsEnough
    case distantMarkNotCompared
    case openTransactionTakenForEnd
    /// Contacts are ready before all partitions have been read, or read again.
    case readyBeforeEnd
    case leaderlessNotAskedAgain
    /// Partitions that cannot be read count as seen.
    case seenUnread
    /// Deletions that compaction has dropped in a long absence are not made good.
    case absenceIgnored
    /// A partition was seen at a time that has not come yet, so that an absence would not be noticed.
    case clockAheadTrusted
    /// What is read again is shown at once.
    case rereadInPlace
    /// What is to be read again is read on instead.
    case positionKept
    /// A partition counts as seen while it is read again: after a restart it is read on in place.
    case rereadingSeen

    #if PLANTED_FAULTS
        @TaskLocal package static var planted: PlantedContactFault?

        @inline(__always)
        package static func isPlanted(_ fault: PlantedContactFault) -> Bool { planted == fault }
    #else
        @inline(__always)
        package static func isPlanted(_ fault: PlantedContactFault) -> Bool { false }
    #endif
}
