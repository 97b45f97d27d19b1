/// The progress of the records taken from one partition during one assignment; the caller makes a new ledger for the
/// next. Records are taken in order of offset and completed in any order. A call takes a few nanoseconds, and allocates
/// nothing once the window has grown to what the traffic needs.
package struct OffsetLedger: Sendable {
    package enum Taking: Sendable {
        /// New: process it, then `complete` it.
        case taken
        /// Known from the commit's metadata to be done: skip it.
        case completed
        /// Not above the last one taken: delivered twice. A recreated log is detected by other means
        /// (`ConsumerEvent.outOfLog`).
        case duplicate
        /// Would stretch the window past its limit while a record hangs. The new record is not entered: pause, and take
        /// it again when the position has moved.
        case full
    }

    /// Half a megabyte of bits per partition at worst.
    package static let spanLimit = 1 << 22
    /// Offsets beyond it are refused as `full`, so that no arithmetic here can overflow.
    private static let highest: Int64 = 1 << 62

    /// The lowest offset that is not done: the next to commit. The start until a record is taken.
    package private(set) var position: Int64
    /// Taken and not completed.
    package private(set) var inFlight = 0
    private var done: OffsetRing
    /// One past the last offset taken.
    private var end: Int64
    /// One past the highest offset known as done from the start.
    private var seededEnd: Int64
    /// Offsets between position and `known` that are not done.
    private var holes = 0
    private let limit: Int
    private var changes: UInt64 = 0
    private var committedChanges: UInt64 = 0

    /// `position` is the committed one; if it is negative, nothing is committed and the first record decides. Of
    /// `completed`, in ascending order, only what lies within the limit is kept. At most `spanLimit` offsets (rounded
    /// up to a power of two) are held between the position and the last one taken, at one bit each.
    package init(startingAt position: Int64, completed: [Range<Int64>] = [], spanLimit: Int = Self.spanLimit) {
        let position = min(max(0, position), Self.highest)
        limit = spanLimit
        done = OffsetRing(at: position)
        end = position
        seededEnd = position
        self.position = position
        seed(completed)
    }

    private mutating func seed(_ completed: [Range<Int64>]) {
        let reachable = (position & ~63) + Int64(limit)
        for range in completed {
            let (start, stop) = (max(range.lowerBound, seededEnd), min(range.upperBound, reachable))
            guard start < stop, done.reach(stop - 1, limit: limit) else { continue }
            holes += Int(start - seededEnd)
            seededEnd = stop
            _ = done.insert(start..<stop)
        }
        position = done.advance(from: position)
    }

    /// One past the last offset taken; the start until then.
    package var next: Int64 { end }

    /// One past the highest offset of which anything is known.
    package var known: Int64 { max(end, seededEnd) }

    /// Offsets between the position and the highest one known.
    package var span: Int { Int(known - position) }

    /// Enters the next record. Skipped offsets are not in the log and count as done.
    package mutating func take(_ offset: Int64) -> Taking {
        guard offset >= end else { return .duplicate }
        guard offset <= Self.highest else { return .full }
        if inFlight == 0, offset >= seededEnd {
            moveOn(to: offset)
        } else {
            guard done.reach(offset, limit: limit) else { return .full }
            if offset > end { passOver(to: offset) }
        }
        end = offset + 1
        guard !isCompleted(offset) else { return .completed }
        inFlight += 1
        if offset >= seededEnd { holes += 1 }
        return .taken
    }

    /// Moves the position any distance: nothing below `offset` is in flight.
    private mutating func moveOn(to offset: Int64) {
        guard offset > position else { return }
        done.restart(at: offset, clearing: known)
        position = offset
        holes = 0
        changes &+= 1
    }

    private mutating func passOver(to offset: Int64) {
        let start = max(end, position)
        guard start < offset else { return }
        let border = min(max(start, seededEnd), offset)
        holes -= done.insert(start..<border)
        _ = done.insert(border..<offset)
        position = done.advance(from: position)
        changes &+= 1
    }

    /// In any order. False if the offset is not in flight.
    package mutating func complete(_ offset: Int64) -> Bool {
        guard isInFlight(offset) else { return false }
        done.insert(offset)
        inFlight -= 1
        holes -= 1
        changes &+= 1
        if offset == position { position = done.advance(from: position) }
        return true
    }

    private func isInFlight(_ offset: Int64) -> Bool { offset >= position && offset < end && !done.contains(offset) }

    package func isCompleted(_ offset: Int64) -> Bool { offset < position || done.contains(offset) }

    /// The offsets above the position that are done, in ascending order.
    package var completedBeyond: [Range<Int64>] { done.runs(in: position..<known) }
}

extension OffsetLedger {
    /// What a commit says about this partition.
    package struct Snapshot: Equatable, Sendable {
        package let offset: Int64
        package let metadata: String
        /// Completed offsets that did not fit into the metadata: a crash would repeat them.
        package let leftOut: Int
        fileprivate let changes: UInt64
    }

    /// Something has changed since the last snapshot that was committed.
    package var isDirty: Bool { changes != committedChanges }

    package func snapshot(limit: Int = OffsetMetadata.limit, version: FormatVersion = .current) -> Snapshot {
        let (metadata, leftOut) = OffsetMetadata(base: position, completed: completedBeyond)
            .encoded(limit: limit, version: version)
        return Snapshot(offset: position, metadata: metadata, leftOut: leftOut, changes: changes)
    }

    /// The commit of this snapshot was accepted.
    package mutating func committed(_ snapshot: Snapshot) {
        committedChanges = max(committedChanges, snapshot.changes)
    }

    /// An upper bound, in characters, of the metadata's size once this offset is taken and all before it are skipped.
    /// Nothing is encoded. If many are in flight it is about a fifth too high.
    package func metadataSizeBound(taking offset: Int64) -> Int {
        let end = max(known, offset &+ 1)
        return OffsetMetadata.sizeBound(span: Int(clamping: end &- position), holes: holes + 1)
    }
}

/// Which offsets of a moving window are done: one bit each, in a ring of words that doubles when the window outgrows
/// it. Bits past the highest offset ever inserted are zero; bits below the position in its word are meaningless.
struct OffsetRing: Sendable {
    private var words: [UInt64]
    /// The first offset of the window: the position, rounded down to a word.
    private var base: Int64

    init(at position: Int64) {
        words = Array(repeating: 0, count: 16)
        base = position & ~63
    }

    private var capacity: Int64 { Int64(words.count) << 6 }

    private func slot(_ offset: Int64) -> Int { Int(truncatingIfNeeded: offset >> 6) & (words.count - 1) }

    private func bit(_ offset: Int64) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: offset & 63) }

    /// False outside the window.
    func contains(_ offset: Int64) -> Bool {
        offset >= base && offset - base < capacity && words[slot(offset)] & bit(offset) != 0
    }

    /// The offset must be inside the window.
    mutating func insert(_ offset: Int64) { words[slot(offset)] |= bit(offset) }

    /// Inserts a range inside the window; returns how many were new.
    mutating func insert(_ range: Range<Int64>) -> Int {
        var (added, offset) = (0, range.lowerBound)
        while offset < range.upperBound {
            let next = min((offset | 63) + 1, range.upperBound)
            let mask = (UInt64.max >> UInt64(64 - (next - offset))) &<< UInt64(offset & 63)
            added += (mask & ~words[slot(offset)]).nonzeroBitCount
            words[slot(offset)] |= mask
            offset = next
        }
        return added
    }

    /// Makes the window reach an offset; false when that would take more than `limit` offsets.
    mutating func reach(_ offset: Int64, limit: Int) -> Bool {
        let needed = offset - base
        if needed < capacity { return true }
        guard needed < Int64(limit) else { return false }
        var count = words.count
        while Int64(count) << 6 <= needed { count <<= 1 }
        var grown = [UInt64](repeating: 0, count: count)
        let first = Int(truncatingIfNeeded: base >> 6)
        for word in first..<first + words.count {
            grown[word & (count - 1)] = words[word & (words.count - 1)]
        }
        words = grown
        return true
    }

    /// The first offset from `position` on that is not done. The window moves up to it and what it leaves is cleared.
    mutating func advance(from position: Int64) -> Int64 {
        var position = position
        while true {
            let absent = ~words[slot(position)] &>> UInt64(truncatingIfNeeded: position & 63)
            if absent != 0 { return position + Int64(absent.trailingZeroBitCount) }
            words[slot(position)] = 0
            position = (position | 63) + 1
            base = position
        }
    }

    /// Forgets everything and starts over at `position`; nothing at or past `end` is set.
    mutating func restart(at position: Int64, clearing end: Int64) {
        var offset = base
        while offset < end {
            words[slot(offset)] = 0
            offset += 64
        }
        base = position & ~63
    }

    /// The runs of done offsets in a range inside the window, in order.
    func runs(in range: Range<Int64>) -> [Range<Int64>] {
        var (runs, offset) = ([Range<Int64>](), range.lowerBound)
        while true {
            let start = first(done: true, in: offset..<range.upperBound)
            guard start < range.upperBound else { return runs }
            offset = first(done: false, in: start..<range.upperBound)
            runs.append(start..<offset)
        }
    }

    private func first(done: Bool, in range: Range<Int64>) -> Int64 {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let word = done ? words[slot(offset)] : ~words[slot(offset)]
            let rest = word &>> UInt64(truncatingIfNeeded: offset & 63)
            if rest != 0 { return min(offset + Int64(rest.trailingZeroBitCount), range.upperBound) }
            offset = (offset | 63) + 1
        }
        return range.upperBound
    }
}
