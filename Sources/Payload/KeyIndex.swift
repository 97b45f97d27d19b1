/// Finds entries, which the caller keeps and numbers, by a hash of their keys.
///
/// Open addressing with linear probing. A cell holds 32 bits of hash and the entry's number plus one; 0 is empty.
@usableFromInline
package struct KeyIndex: Sendable {
    /// As many as a power of two.
    @usableFromInline package private(set) var cells: [UInt64]
    private var count = 0

    /// Has room for `capacity` entries, and grows beyond them.
    package init(capacity: Int = 0) {
        cells = Array(repeating: 0, count: 2 << (Int.bitWidth - max(capacity, 7).leadingZeroBitCount))
    }

    /// For keys that outsiders cannot choose: there is no defense against chosen collisions.
    package static func plainHash(_ key: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(truncatingIfNeeded: ByteHash.hash(key))
    }

    /// Of several, the one inserted first, unless the index has grown.
    @inlinable
    package func find(_ hash: UInt32, where isIt: (Int) -> Bool) -> Int? {
        let mask = cells.count &- 1
        var at = Int(hash) & mask
        while cells[at] != 0 {
            if UInt32(truncatingIfNeeded: cells[at] >> 32) == hash {
                let entry = Self.entry(cells[at])
                if isIt(entry) { return entry }
            }
            at = (at + 1) & mask
        }
        return nil
    }

    /// Numbers go from 0 to 2^32-2.
    package mutating func insert(_ hash: UInt32, _ entry: Int) {
        if count >= cells.count / 4 * 3 { grow() }
        count += 1
        place(UInt64(hash) << 32 | UInt64(truncatingIfNeeded: entry + 1))
    }

    /// The entry must be there.
    package mutating func remove(_ hash: UInt32, _ entry: Int) {
        let mask = cells.count - 1
        var hole = Int(hash) & mask
        while Self.entry(cells[hole]) != entry { hole = (hole + 1) & mask }
        count -= 1
        // Cells that probing had pushed beyond the hole move back into it.
        var at = hole
        while true {
            at = (at + 1) & mask
            guard cells[at] != 0 else { break }
            let home = Self.hash(cells[at]) & mask
            if (at &- home) & mask >= (at &- hole) & mask {
                cells[hole] = cells[at]
                hole = at
            }
        }
        cells[hole] = 0
    }

    private mutating func grow() {
        let old = cells
        cells = Array(repeating: 0, count: old.count * 2)
        for cell in old where cell != 0 { place(cell) }
    }

    private mutating func place(_ cell: UInt64) {
        let mask = cells.count - 1
        var at = Self.hash(cell) & mask
        while cells[at] != 0 { at = (at + 1) & mask }
        cells[at] = cell
    }

    @inlinable
    static func entry(_ cell: UInt64) -> Int { Int(cell & 0xFFFF_FFFF) - 1 }
    private static func hash(_ cell: UInt64) -> Int { Int(cell >> 32) }
}
