import PushmillKafka
import PushmillStages
import PushmillStores

/// Logs that were made anew: counts stay, and the offsets at which they were counted say nothing. The changelog tells one
/// log from the next in nobody's account: by the log's incarnation, and by a mark, the offset of a record that was
/// counted and the low bits of its timestamp in a count's place.
extension Shard where Ports: ~Copyable {
    /// Who asks a log for the record at the mark waits so long: there may be none any more.
    static var comparesFor: Duration { .seconds(10) }
    private static var nobody: [UInt8] { [0, 0, 0, 0] }

    /// The log ends before what was taken of it: the topic was made anew, or cut. Counts stay, and old offsets say nothing.
    mutating func beginAnew(_ index: Int32, at offset: Int64, mark: CountState? = nil) {
        ports.tell(.logMadeAnew(partitions[index].place, offset: offset))
        partitions[index].range = nil
        partitions[index].epoch &+= 1
        // They were of other records.
        forgetRefusals(of: [partitions[index].place])
        if settings.counts { beginIncarnation(index, mark: mark) }
        partitions[index].ledger = OffsetLedger(startingAt: offset)
        partitions[index].committed = partitions[index].ledger.snapshot()
        partitions[index].mustCommit = true
        isDirty = true
        partitions[index].state = .seeking(offset, again: now)
    }

    /// Nobody's account says so in the changelog, before anything of the new log is committed. Beyond the last incarnation
    /// that the changelog can name, where a record that somebody has put there has led, it is taken for the same log.
    /// A log that was only cut keeps its mark.
    mutating func beginIncarnation(_ index: Int32, mark: CountState? = nil) {
        partitions[index].incarnation = min(partitions[index].incarnation, CountState.highestIncarnation - 1) + 1
        partitions[index].noteMark(now)
        let state = CountState(
            count: mark?.count ?? 0, incarnation: partitions[index].incarnation, offset: mark?.offset ?? 0)
        add(index, state, isRewrite: true, timestamp: partitions[index].timestamp, key: Self.nobody)
    }

    /// The changelog has the count of a record with this timestamp. Only the highest of all is a mark: so marks grow.
    mutating func markLog(_ index: Int32, _ counted: CountState, timestamp: Int64) {
        guard partitions[index].state == .running, now >= partitions[index].nextMark,
            counted == partitions[index].counts?.value.highest
        else { return }
        partitions[index].noteMark(now)
        var mark = counted
        mark.count = Self.bits(of: timestamp)
        add(index, mark, isRewrite: false, timestamp: timestamp, key: Self.nobody)
    }

    /// 0 where it has none.
    private static func bits(of timestamp: Int64) -> Int32 { Int32(truncatingIfNeeded: max(0, timestamp)) & .max }

    /// The log reaches beyond what was counted, and is to be read from before it: that is the same log, or another one
    /// that is longer already. In another one another record stands at the mark.
    mutating func compareLog(_ index: Int32, in range: Range<Int64>) {
        if !readMark(index, in: range) { beginReading(index) }
    }

    /// The log ends before what was taken of it. Where the mark still stands in it, brokers have lost its last records,
    /// as in an unclean election, and what comes behind the mark may have come since; else it was made anew, as far as is
    /// known.
    mutating func goBack(_ index: Int32, in range: Range<Int64>) {
        if !readMark(index, in: range) { beginAnew(index, at: range.lowerBound) }
    }

    /// False where there is no mark that says anything.
    private mutating func readMark(_ index: Int32, in range: Range<Int64>) -> Bool {
        guard let secret = partitions[index].counts?.value.secret else { return false }
        let account = Self.nobody.withUnsafeBytes { secret.hash($0) }
        partitions[index].counts?.value.want(account)
        guard partitions[index].counts?.value.load() == true else {
            failDisk(of: index)
            return true
        }
        guard let mark = partitions[index].counts?.value.state(of: account), mark.count > 0,
            !PlantedFault.isPlanted(.longerLogTakenForOld), mark.incarnation == partitions[index].incarnation,
            range.contains(mark.offset)
        else { return false }
        let place = partitions[index].place
        if partitions[index].isRead { ports.stop(place) }
        ports.read([Position(place, offset: mark.offset)])
        (partitions[index].isRead, partitions[index].isStopped) = (true, false)
        // Nobody may take what is not known yet for where it begins.
        partitions[index].hasPosition = false
        partitions[index].state = .comparing(mark, until: now + Self.comparesFor)
        return true
    }

    /// What is read comes in: that nothing has come of a log says something. After a revocation all is asked again.
    var canCompare: Bool { revocation == nil && heldUpSince == nil && ending.isRunning }

    mutating func compare(_ message: Ports.Message, with mark: CountState, _ index: Int32) {
        guard message.offset >= mark.offset else { return }
        guard message.offset == mark.offset else { return compared(index, nil) }
        compared(index, mark, isSame: Self.bits(of: message.timestamp) == mark.count)
    }

    /// The mark is nil where nothing stands there any more.
    mutating func compared(_ index: Int32, _ mark: CountState?, isSame: Bool = false) {
        partitions[index].hasPosition = true
        if let range = partitions[index].range {
            guard let mark, isSame else { return beginAnew(index, at: range.lowerBound) }
            return beginAnew(index, at: min(mark.offset + 1, partitions[index].ledger.next), mark: mark)
        }
        partitions[index].state = .restoring
        if mark != nil, !isSame {
            ports.tell(.logMadeAnew(partitions[index].place, offset: partitions[index].ledger.position))
            forgetRefusals(of: [partitions[index].place])
            beginIncarnation(index)
        }
        beginReading(index)
    }
}
