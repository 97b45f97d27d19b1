import PushmillKafka
import PushmillStages
import PushmillStores

/// Recreated logs: counts stay, but the offsets at which they were counted mean nothing. The changelog distinguishes
/// one log from the next in an account that is nobody's: by the log's incarnation, and by a mark, the offset of a
/// counted record with the low bits of its timestamp in place of a count.
extension Shard where Ports: ~Copyable {
    /// How long to wait for the record at the mark: the log may not have one any more.
    static var comparesFor: Duration { .seconds(10) }
    private static var nobody: [UInt8] { [0, 0, 0, 0] }

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
        var mark = counted
        mark.count = Self.bits(of: timestamp)
        add(index, mark, isRewrite: false, timestamp: timestamp, key: Self.nobody)
    }

    /// 0 if the record has no timestamp.
    private static func bits(of timestamp: Int64) -> Int32 { Int32(truncatingIfNeeded: max(0, timestamp)) & .max }

    /// The log reaches beyond what was counted, and is to be read from before that: it is the same log, or another one
    /// that is longer already. Another log has a different record at the mark.
    mutating func compareLog(_ index: Int32, in range: Range<Int64>) {
        if !readMark(index, in: range, start: nil) { beginReading(index) }
    }

    /// The log ends before what was taken of it. If the mark is still in the log, brokers have lost the last records,
    /// as in an unclean election, and records behind the mark may be new. Otherwise the log is taken to be recreated.
    mutating func goBack(_ index: Int32, in range: Range<Int64>) {
        partitions[index].range = nil
        if !readMark(index, in: range, start: range.lowerBound) { beginAnew(index, at: range.lowerBound) }
    }

    /// False if there is no usable mark.
    private mutating func readMark(_ index: Int32, in range: Range<Int64>, start: Int64?) -> Bool {
        guard let secret = partitions[index].counts?.value.secret else { return false }
        let account = Self.nobody.withUnsafeBytes { secret.hash($0) }
        guard let mark = partitions[index].counts?.value.loadedState(of: account) else {
            failDisk(of: index)
            return true
        }
        guard mark.count > 0, !PlantedFault.isPlanted(.longerLogTakenForOld),
            mark.incarnation == partitions[index].incarnation, range.contains(mark.offset)
        else { return false }
        let id = partitions[index].id
        if partitions[index].isHandedToConsumer { ports.stop(id) }
        ports.read([Position(id, offset: mark.offset)])
        (partitions[index].isHandedToConsumer, partitions[index].isStopped) = (true, false)
        // The position is unknown until the logs are compared: nothing may use it as the partition's beginning.
        partitions[index].hasPosition = false
        partitions[index].state = .comparing(mark, start: start, until: now + Self.comparesFor)
        return true
    }

    /// Records can arrive, so the absence of a record means something. After a revocation everything is asked again.
    var canCompare: Bool { revocation == nil && heldUpSince == nil && ending.isRunning }

    mutating func compare(_ message: Ports.Message, with mark: CountState, _ index: Int32) {
        guard message.offset >= mark.offset else { return }
        guard message.offset == mark.offset else { return compared(index, nil) }
        compared(index, mark, isSame: Self.bits(of: message.timestamp) == mark.count)
    }

    /// The mark is nil if its record was not found.
    mutating func compared(_ index: Int32, _ mark: CountState?, isSame: Bool = false) {
        guard case .comparing(_, let start, _) = partitions[index].state else { return }
        partitions[index].hasPosition = true
        if let start {
            guard let mark, isSame else { return beginAnew(index, at: start) }
            return beginAnew(index, at: min(mark.offset + 1, partitions[index].ledger.next), mark: mark)
        }
        partitions[index].state = .restoring
        if mark != nil, !isSame {
            ports.tell(.logMadeAnew(partitions[index].id, offset: partitions[index].ledger.position))
            forgetRefusals(of: [partitions[index].id])
            beginIncarnation(index)
        }
        beginReading(index)
    }
}
