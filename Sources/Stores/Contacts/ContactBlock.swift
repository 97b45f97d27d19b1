import PushmillLocalization
import PushmillPayload

/// An owner's contacts in a table's memory: the number of buckets (32 bits), the owner's length (16), the owner, each
/// bucket's end as an offset from the first bucket's begin (32 each), then the buckets. The hash of an identifier
/// selects its bucket, in which about four entries follow each other.
struct ContactBlock {
    private static let headerSize = 6
    private static let entriesInBucket = 4

    private let start: UnsafeRawPointer

    init(_ start: UnsafeRawPointer) { self.start = start }

    static func bucketCount(of contacts: Int) -> Int { (contacts + entriesInBucket - 1) / entriesInBucket }

    /// The size of a block without its entries.
    static func byteCount(owner: Int, buckets: Int) -> Int { headerSize + owner + buckets * MemoryLayout<UInt32>.size }

    /// The bucket, out of `count`, of an identifier with this hash.
    static func bucket(_ hash: UInt32, of count: Int) -> Int { (Int(hash) * count) >> 32 }

    /// Writes everything before the entries except the ends of the buckets.
    static func write(owner: UnsafeRawBufferPointer, buckets: Int, at start: UnsafeMutableRawPointer) {
        start.storeBytes(of: UInt32(truncatingIfNeeded: buckets), as: UInt32.self)
        start.storeBytes(of: UInt16(truncatingIfNeeded: owner.count), toByteOffset: 4, as: UInt16.self)
        UnsafeMutableRawBufferPointer(start: start + headerSize, count: owner.count).copyMemory(from: owner)
    }

    static func writeEnd(_ end: Int, of bucket: Int, owner: Int, at start: UnsafeMutableRawPointer) {
        let place = headerSize + owner + bucket * MemoryLayout<UInt32>.size
        start.storeBytes(of: UInt32(truncatingIfNeeded: end), toByteOffset: place, as: UInt32.self)
    }

    func isOwned(by owner: RawSpan) -> Bool {
        let own = UnsafeRawBufferPointer(start: start + Self.headerSize, count: ownerCount)
        return owner.hasSameBytes(as: own.bytes)
    }

    func entry(_ id: RawSpan, _ hash: UInt32) -> ContactEntry? {
        let count = Int(start.loadUnaligned(as: UInt32.self))
        let bucket = Self.bucket(hash, of: count)
        let entries = start + Self.byteCount(owner: ownerCount, buckets: count)
        return ContactEntry.find(
            id, hash, from: entries + (bucket == 0 ? 0 : end(of: bucket - 1)), to: entries + end(of: bucket))
    }

    private var ownerCount: Int { Int(start.loadUnaligned(fromByteOffset: 4, as: UInt16.self)) }

    private func end(of bucket: Int) -> Int {
        let place = Self.byteCount(owner: ownerCount, buckets: bucket)
        return Int(start.loadUnaligned(fromByteOffset: place, as: UInt32.self))
    }
}

/// One contact in memory: 8 bits of the identifier's hash, 8 of the name's direction, the lengths of identifier and
/// name in 16 bits each, then both texts. The name is clean; an empty one stands for no contact.
struct ContactEntry {
    static let headerSize = 6
    /// Bytes of either text.
    static let longest = Int(UInt16.max)

    private let start: UnsafeRawPointer

    init(_ start: UnsafeRawPointer) { self.start = start }

    static func append(_ id: RawSpan, _ hash: UInt32, _ name: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(UInt8(truncatingIfNeeded: hash))
        bytes.append(TextDirection(of: name.span).rawValue)
        for count in [id.byteCount, name.count] {
            withUnsafeBytes(of: UInt16(truncatingIfNeeded: count)) { bytes.append(contentsOf: $0) }
        }
        id.withUnsafeBytes { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: name)
    }

    /// Searches the entries from `start` to `end`.
    static func find(
        _ id: RawSpan, _ hash: UInt32, from start: UnsafeRawPointer, to end: UnsafeRawPointer
    ) -> ContactEntry? {
        var start = start
        while start < end {
            let entry = ContactEntry(start)
            if entry.tag == UInt8(truncatingIfNeeded: hash), entry.isOf(id) { return entry }
            start += entry.bytes.count
        }
        return nil
    }

    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start, count: Self.headerSize + idCount + nameCount)
    }

    var id: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start + Self.headerSize, count: idCount) }

    var name: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start + Self.headerSize + idCount, count: nameCount)
    }

    var direction: TextDirection { TextDirection(rawValue: start.load(fromByteOffset: 1, as: UInt8.self)) }

    private func isOf(_ other: RawSpan) -> Bool {
        let id = id
        return other.hasSameBytes(as: id.bytes)
    }

    private var tag: UInt8 { start.load(as: UInt8.self) }
    private var idCount: Int { Int(start.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
    private var nameCount: Int { Int(start.loadUnaligned(fromByteOffset: 4, as: UInt16.self)) }
}

extension RawSpan {
    func hasSameBytes(as other: RawSpan) -> Bool {
        withUnsafeBytes { left in other.withUnsafeBytes { left.hasBytes($0) } }
    }
}
