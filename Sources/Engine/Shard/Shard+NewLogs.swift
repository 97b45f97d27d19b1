import PushmillKafka
import PushmillStages
import PushmillStores

/// Recreated logs: counts stay, but the offsets at which they were counted mean nothing. The changelog distinguishes
/// one log from the next in accounts that are nobody's: by the log's incarnation, and by marks. A mark is the offset of
/// a counted record, with the low bits of its timestamp in place of a count.
extension Shard where Ports: ~Copyable {
    /// How long to wait for the record at a mark: the log may not have one any more.
    static var comparesFor: Duration { .seconds(10) }
    /// The account of the newest mark.
    private static var nobody: [UInt8] { [0, 0, 0, 0] }
    /// The accounts of older marks, and by how many milliseconds each is older than the one before at most. Brokers that
    /// lose the end of a log may lose the record at the newest mark with it.
    private static var olderMarks: [(key: [UInt8], age: Int32)] {
        [(nobody + "minute".utf8, 60_000), (nobody + "hour".utf8, 3_600_000), (nobody + "day".utf8, 86_400_000)]
    }

    /// The log ends before what was taken: the topic was recreated or truncated. Counts stay; old offsets mean nothing.
    mutating func beginAnew(_ index: Int32, at offset: Int64, mark: CountState? = nil) {
        ports.tell(.logMadeAnew(partitions[index].id, offset: offset))
        partitions[index].epoch &+= 1
        // The refusals were of other records.
        forgetRefusals(of: [partitions[index].id])
        if settings.counts { beginIncarnation(index, mark: mark) }
        partitions[index].ledger = OffsetLedger(startingAt: offset)
        partitions[index].committed = partitions[index].ledger.snapshot()
        partitions[index].mustCommit = true
        isDirty = true
        partitions[index].state = .seeking(offset, again: now)
    }

    /// The new incarnation is written to nobody's account in the changelog before anything of the new log is committed.
    /// At the highest one that the changelog can express, as after a foreign record there, the new log is taken for the
    /// same log. A log that was only truncated keeps its mark.
    mutating func beginIncarnation(_ index: Int32, mark: CountState? = nil) {
        partitions[index].incarnation = min(partitions[index].incarnation, CountState.highestIncarnation - 1) + 1
        partitions[index].noteLogMark(now)
        let state = CountState(
            count: mark?.count ?? 0, incarnation: partitions[index].incarnation, offset: mark?.offset ?? 0)
        add(index, state, isRewrite: true, timestamp: partitions[index].timestamp, key: Self.nobody)
    }

    /// The changelog has the count of a record with this timestamp. Only the highest is a mark, so marks only grow.
    mutating func writeLogMark(_ index: Int32, _ counted: CountState, timestamp: Int64) {
        guard partitions[index].state == .running, now >= partitions[index].nextLogMark,
            counted == partitions[index].counts?.value.highest
        else { return }
        partitions[index].noteLogMark(now)
        keepOlderMarks(of: index, timestamp: timestamp)
        var mark = counted
        mark.count = Self.bits(of: timestamp)
        add(index, mark, isRewrite: false, timestamp: timestamp, key: Self.nobody)
    }

    /// The newest mark is about to be replaced: it becomes the next older one if that is too old by now, and so on.
    private mutating func keepOlderMarks(of index: Int32, timestamp: Int64) {
        guard var replaced = mark(of: index, Self.nobody) else { return }
        for (key, age) in Self.olderMarks {
            guard isUsable(replaced, index), let older = mark(of: index, key),
                !isUsable(older, index) || (replaced.count &- older.count) & .max >= age
            else { return }
            add(index, replaced, isRewrite: false, timestamp: timestamp, key: key)
            replaced = older
        }
    }

    /// nil if the disk cannot be read.
    private mutating func mark(of index: Int32, _ key: [UInt8]) -> CountState? {
        guard let secret = partitions[index].counts?.value.secret else { return nil }
        return partitions[index].counts?.value.loadedState(of: key.withUnsafeBytes { secret.hash($0) })
    }

    /// False for the mark of an earlier log, or of a record without a timestamp.
    private func isUsable(_ mark: CountState, _ index: Int32) -> Bool {
        mark.count > 0 && mark.incarnation == partitions[index].incarnation
    }

    /// 0 if the record has no timestamp.
    private static func bits(of timestamp: Int64) -> Int32 { Int32(truncatingIfNeeded: max(0, timestamp)) & .max }

    /// The log reaches beyond what was counted, and is to be read from before that: it is the same log, or another one
    /// that is longer already. Another log has a different record at the mark.
    mutating func compareLog(_ index: Int32, in range: Range<Int64>) {
        if !readMark(index, in: range, start: nil) { beginReading(index) }
    }

    /// The log ends before what was taken of it. If a mark is still in the log, brokers have lost the last records, as
    /// in an unclean election, and records behind the mark may be new. Otherwise the log is taken to be recreated.
    mutating func goBack(_ index: Int32, in range: Range<Int64>) {
        partitions[index].range = nil
        if !readMark(index, in: range, start: range.lowerBound) { beginAnew(index, at: range.lowerBound) }
    }

    /// Reads the record at the newest mark in the range. False if there is no usable mark.
    private mutating func readMark(_ index: Int32, in range: Range<Int64>, start: Int64?) -> Bool {
        guard settings.counts, !PlantedFault.isPlanted(.longerLogTakenForOld) else { return false }
        for key in [Self.nobody] + Self.olderMarks.map(\.key) {
            guard let mark = mark(of: index, key) else {
                failDisk(of: index)
                return true
            }
            guard isUsable(mark, index), range.contains(mark.offset) else { continue }
            let id = partitions[index].id
            if partitions[index].isHandedToConsumer { ports.stop(id) }
            ports.read([Position(id, offset: mark.offset)])
            (partitions[index].isHandedToConsumer, partitions[index].isStopped) = (true, false)
            // The position is unknown until the logs are compared: nothing may use it as the partition's beginning.
            partitions[index].hasPosition = false
            partitions[index].state = .comparing(
                LogComparison(mark: mark, end: range.upperBound, start: start, until: now + Self.comparesFor))
            return true
        }
        return false
    }

    /// Records can arrive, so the absence of a record means something. After a revocation everything is asked again.
    var canCompare: Bool { revocation == nil && heldUpSince == nil && ending.isRunning }

    /// The first record that arrives from the mark on tells whether the log has the marked one. Those from the end on
    /// may have been read for a newer mark.
    mutating func compare(_ message: Ports.Message, _ comparison: LogComparison, _ index: Int32) {
        let mark = comparison.mark
        guard message.offset >= mark.offset, message.offset < comparison.end else { return }
        guard message.offset == mark.offset else { return compared(index, comparison) }
        compared(index, comparison, isFound: true, isSame: Self.bits(of: message.timestamp) == mark.count)
    }

    mutating func compared(_ index: Int32, _ comparison: LogComparison, isFound: Bool = false, isSame: Bool = false) {
        let mark = comparison.mark
        partitions[index].hasPosition = true
        if let start = comparison.start {
            if isSame { return beginAnew(index, at: min(mark.offset + 1, partitions[index].ledger.next), mark: mark) }
            if readMark(index, in: start..<mark.offset, start: start) { return }
            return beginAnew(index, at: start)
        }
        partitions[index].state = .restoring
        if isFound, !isSame {
            ports.tell(.logMadeAnew(partitions[index].id, offset: partitions[index].ledger.position))
            forgetRefusals(of: [partitions[index].id])
            beginIncarnation(index)
        }
        beginReading(index)
    }
}

/// How one log is told from another: whether the record at a mark is the one that was counted.
struct LogComparison: Equatable {
    let mark: CountState
    /// Where the log ended when it was asked, or a newer mark whose record is not in the log.
    let end: Int64
    /// Where the log begins, if it ends before what was taken of it; nil if it reaches beyond that.
    let start: Int64?
    /// When a record that has not arrived is taken to be missing.
    var until: Instant
}
