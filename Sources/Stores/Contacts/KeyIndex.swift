import CPushmillMemory
import PushmillPayload

/// Finds entries, which the caller keeps and numbers, by a hash of their keys.
///
/// Open addressing with linear probing. A cell holds 32 bits of hash and the entry's number plus one; 0 is empty.
struct KeyIndex: ~Copyable, Sendable {
    private var cells: [UInt64]
    private var mask: Int
    private var count = 0

    init() {
        cells = Array(repeating: 0, count: 16)
        mask = cells.count - 1
    }

    static func hash(_ key: RawSpan) -> UInt32 { UInt32(truncatingIfNeeded: hash(key, after: 0)) }

    static func hash(_ first: RawSpan, _ second: RawSpan) -> UInt32 {
        UInt32(truncatingIfNeeded: hash(second, after: hash(first, after: 0)))
    }

    /// Random for each process, so that outsiders cannot choose keys that collide.
    private static let secret = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))

    private static func hash(_ key: RawSpan, after state: UInt64) -> UInt64 {
        key.withUnsafeBytes { ByteHash.hash($0, after: state, by: secret) }
    }

    func prefetch(_ hash: UInt32) {
        cells.withUnsafeBufferPointer { cells in
            if let base = cells.baseAddress { pushmill_prefetch(base + (Int(hash) & mask)) }
        }
    }

    func find(_ hash: UInt32, where isIt: (Int) -> Bool) -> Int? {
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

    /// The key must not be there yet. Numbers go from 0 to 2^32-2.
    mutating func insert(_ hash: UInt32, _ entry: Int) {
        if count >= cells.count / 4 * 3 { grow() }
        count += 1
        place(UInt64(hash) << 32 | UInt64(truncatingIfNeeded: entry + 1))
    }

    /// The entry must be there.
    mutating func remove(_ hash: UInt32, _ entry: Int) {
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
        mask = cells.count - 1
        for cell in old where cell != 0 { place(cell) }
    }

    private mutating func place(_ cell: UInt64) {
        var at = Self.hash(cell) & mask
        while cells[at] != 0 { at = (at + 1) & mask }
        cells[at] = cell
    }

    private static func entry(_ cell: UInt64) -> Int { Int(cell & 0xFFFF_FFFF) - 1 }
    private static func hash(_ cell: UInt64) -> Int { Int(cell >> 32) }
}
