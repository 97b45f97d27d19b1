import PushmillKafka
import PushmillStages
import PushmillStores

/// Recreated logs: counts stay, but the offsets at which they were counted mean nothing. The changelog distinguishes
/// one log from the next in accounts that are nobody's: by the log's incarnation, and by marks. A mark is the offset of
/// a counted record, with the low bits of its timestamp in place of a count.
extension Shard where Ports: ~Copyable {
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
    /// same log. A log that was only truncated keeps the mark, and older ones.
    mutating func beginIncarnation(_ index: Int32, mark: CountState? = nil) {
        var kept = [(key: Self.nobody, mark: mark ?? CountState(count: 0, offset: 0))]
        if let mark {
            for (key, _) in Self.olderMarks {
                guard let older = self.mark(of: index, key), isUsable(older, index), older.offset < mark.offset else {
                    continue
                }
                kept.append((key, older))
            }
        }
        partitions[index].incarnation = min(partitions[index].incarnation, CountState.highestIncarnation - 1) + 1
        partitions[index].noteLogMark(now)
        // With transactions the incarnation is committed together with what is counted in it.
        partitions[index].isAnew = !settings.isTransactional
        for (key, mark) in kept {
            let state = CountState(count: mark.count, incarnation: partitions[index].incarnation, offset: mark.offset)
            add(index, state, .rewrite, timestamp: partitions[index].timestamp, key: key)
        }
    }

    /// The changelog has the count of a record with this timestamp. Only the highest is a mark, so marks only grow.
    mutating func writeLogMark(_ index: Int32, _ counted: CountState, timestamp: Int64) {
        guard partitions[index].state == .running, now >= partitions[index].nextLogMark,
            counted == partitions[index].counts?.value.highest
        else { return }
        partitions[index].noteLogMark(now)
        var mark = counted
        mark.count = Self.bits(of: timestamp)
        keepOlderMarks(of: index, before: mark, timestamp: timestamp)
        add(index, mark, .mark, timestamp: timestamp, key: Self.nobody)
    }

    /// The newest mark is about to be replaced: it becomes the next older one if that is too old by now, and so on. Of
    /// two producers' clocks one may be wrong: a mark ahead of the new one is not kept.
    private mutating func keepOlderMarks(of index: Int32, before new: CountState, timestamp: Int64) {
        guard var replaced = mark(of: index, Self.nobody) else { return }
        for (key, age) in Self.olderMarks {
            guard isKept(replaced, index, before: new), let older = mark(of: index, key),
                !isKept(older, index, before: new) || Self.age(of: older, at: replaced) >= age
            else { return }
            add(index, replaced, .mark, timestamp: timestamp, key: key)
            replaced = older
        }
    }

    private func isKept(_ mark: CountState, _ index: Int32, before new: CountState) -> Bool {
        isUsable(mark, index) && Self.age(of: mark, at: new) >= 0
    }

    /// Milliseconds, between timestamps of which the marks have 31 bits; negative if the mark is ahead.
    private static func age(of mark: CountState, at later: CountState) -> Int32 {
        ((later.count &- mark.count) << 1) >> 1
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
        if !askMark(index, in: range, start: nil) { beginReading(index) }
    }

    /// The log ends before what was taken of it. If a mark is still in the log, brokers have lost the last records, as
    /// in an unclean election, and records behind the mark may be new. Otherwise the log is taken to be recreated.
    mutating func goBack(_ index: Int32, in range: Range<Int64>) {
        partitions[index].range = nil
        if !askMark(index, in: range, start: range.lowerBound) { beginAnew(index, at: range.lowerBound) }
    }

    /// Asks for the record at the newest mark in the range. False if there is no usable mark.
    private mutating func askMark(_ index: Int32, in range: Range<Int64>, start: Int64?) -> Bool {
        guard settings.counts, !PlantedFault.isPlanted(.longerLogTakenForOld) else { return false }
        for key in [Self.nobody] + Self.olderMarks.map(\.key) {
            guard let mark = mark(of: index, key) else {
                failDisk(of: index)
                return true
            }
            guard isUsable(mark, index), range.contains(mark.offset) else { continue }
            // The position is unknown until the logs are compared: nothing may use it as the partition's beginning.
            partitions[index].hasPosition = false
            partitions[index].state = .comparing(mark, start: start, again: now)
            return true
        }
        return false
    }

    mutating func handleRecord(_ position: Position, timestamp: Int64?) {
        guard let index = partitions.index(of: position.partition), ending.isRunning,
            case .comparing(let mark, let start, _) = partitions[index].state, mark.offset == position.offset
        else { return }
        let isSame = timestamp.map { Self.bits(of: $0) } == mark.count
        partitions[index].hasPosition = true
        if let start {
            if isSame { return beginAnew(index, at: min(mark.offset + 1, partitions[index].ledger.next), mark: mark) }
            if !askMark(index, in: start..<mark.offset, start: start) { beginAnew(index, at: start) }
            return
        }
        partitions[index].state = .restoring
        if timestamp != nil, !isSame {
            ports.tell(.logMadeAnew(partitions[index].id, offset: partitions[index].ledger.position))
            forgetRefusals(of: [partitions[index].id])
            beginIncarnation(index)
        }
        beginReading(index)
    }
}
