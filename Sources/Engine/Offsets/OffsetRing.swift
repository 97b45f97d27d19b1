/// Which offsets of a moving window are done: one bit each, in a ring of words that doubles when the window outgrows it.
/// Bits past the highest offset ever inserted are zero; those below the position in its own word mean nothing.
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
