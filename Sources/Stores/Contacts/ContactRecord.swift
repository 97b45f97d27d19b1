import Glibc
import PushmillLocalization

/// One contact as bytes: three lengths of 16 bits, the name's direction, then owner, identifier and name. The name is
/// clean, and empty for one who is known to be nobody's contact.
enum ContactRecord {
    static let longest = Int(UInt16.max)
    private static let headerSize = 7

    /// Appends a record; false if one of its parts is too long.
    static func append(owner: RawSpan, id: RawSpan, name: [UInt8], to bytes: inout [UInt8]) -> Bool {
        guard max(owner.byteCount, id.byteCount, name.count) <= longest else { return false }
        for count in [owner.byteCount, id.byteCount, name.count] {
            bytes.append(UInt8(truncatingIfNeeded: count))
            bytes.append(UInt8(truncatingIfNeeded: count >> 8))
        }
        bytes.append(TextDirection(of: name.span).rawValue)
        owner.withUnsafeBytes { bytes.append(contentsOf: $0) }
        id.withUnsafeBytes { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: name)
        return true
    }

    static func matches(_ bytes: [UInt8], at start: Int, owner: RawSpan, id: RawSpan) -> Bool {
        let (ownerCount, idCount) = (count(bytes, start), count(bytes, start + 2))
        guard ownerCount == owner.byteCount, idCount == id.byteCount else { return false }
        let key = bytes.span.bytes.extracting(droppingFirst: start + headerSize)
        return key.extracting(first: ownerCount).hasSameBytes(as: owner)
            && key.extracting(ownerCount..<ownerCount + idCount).hasSameBytes(as: id)
    }

    /// Gives the name; false for nobody's contact.
    static func giveName(
        of bytes: [UInt8], at start: Int, _ body: (Span<UInt8>, TextDirection) -> Void
    ) -> Bool {
        let nameStart = start + headerSize + count(bytes, start) + count(bytes, start + 2)
        let nameCount = count(bytes, start + 4)
        guard nameCount > 0 else { return false }
        body(bytes.span.extracting(nameStart..<nameStart + nameCount), TextDirection(rawValue: bytes[start + 6]))
        return true
    }

    private static func count(_ bytes: [UInt8], _ at: Int) -> Int { Int(bytes[at]) | Int(bytes[at + 1]) << 8 }
}

extension RawSpan {
    func hasSameBytes(as other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        return withUnsafeBytes { left in
            other.withUnsafeBytes { right in
                guard let left = left.baseAddress, let right = right.baseAddress else { return true }
                return memcmp(left, right, byteCount) == 0
            }
        }
    }
}

/// Finds entries that somebody else keeps and has numbered, by a hash of their keys.
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

    /// A seed of the process's own goes into it, so that nobody outside can choose keys that collide.
    static func hash(_ first: RawSpan, _ second: RawSpan) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(first.byteCount)
        first.withUnsafeBytes { hasher.combine(bytes: $0) }
        second.withUnsafeBytes { hasher.combine(bytes: $0) }
        return UInt32(truncatingIfNeeded: hasher.finalize())
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

    /// Gives the key of an entry another number.
    mutating func renumber(_ hash: UInt32, _ entry: Int, to new: Int) {
        guard let at = cell(of: entry, hash) else { return }
        cells[at] = UInt64(hash) << 32 | UInt64(truncatingIfNeeded: new + 1)
    }

    mutating func remove(_ hash: UInt32, _ entry: Int) {
        guard var hole = cell(of: entry, hash) else { return }
        count -= 1
        // What probing had pushed beyond the hole moves back into it.
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

    private func cell(of entry: Int, _ hash: UInt32) -> Int? {
        var at = Int(hash) & mask
        while cells[at] != 0 {
            if Self.entry(cells[at]) == entry { return at }
            at = (at + 1) & mask
        }
        return nil
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
