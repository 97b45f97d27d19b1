/// Where a partition that was assigned begins: what the file says against what the group has committed.
package enum StartPosition: Equatable {
    case file
    case group(Warning?)
    /// Nobody has been here: `auto.offset.reset` decides.
    case reset
    /// The file is about another log: it has to be set aside, and then the group decides.
    case fileIsForeign

    package enum Warning: Equatable {
        /// An operator has moved the group: events that repeat count again, those passed over never do.
        case movedByOperator
        /// Another instance has served the partition: its counts are not in this file. Exactly-once would bring them.
        case countsMayBeStale
        /// There is no state for the partition here, but it was served before. Exactly-once would bring its counts.
        case countsAreMissing
    }

    package struct Mark: Equatable {
        package let next: Int64
        /// How many offsets beyond `next` are done too.
        package let doneBeyond: Int

        package init(next: Int64, doneBeyond: Int) {
            self.next = next
            self.doneBeyond = doneBeyond
        }

        fileprivate func isFurther(than other: Mark) -> Bool {
            (next, doneBeyond) > (other.next, other.doneBeyond)
        }
    }

    package enum Committed: Equatable {
        case nothing
        /// With metadata of ours that names the very offset.
        case byUs(Mark)
        /// By a tool, or by another program.
        case byOthers
    }

    /// `end` is the offset that the log will give next.
    package init(file: Mark?, group: Committed, end: Int64) {
        guard let file else {
            self = group == .nothing ? .reset : .group(.countsAreMissing)
            return
        }
        let (reach, overflow) = file.next.addingReportingOverflow(Int64(file.doneBeyond))
        self =
            switch group {
            case _ where overflow || reach > end: .fileIsForeign
            case .nothing: .file
            case .byOthers: .group(.movedByOperator)
            case .byUs(let mark): mark.isFurther(than: file) ? .group(.countsMayBeStale) : .file
            }
    }
}
