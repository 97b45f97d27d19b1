import PushmillLocalization
import PushmillPayload

/// An owner's contacts in the memory of a table: the number of buckets in 32 bits, the length of the owner in 16, the owner,
/// where each bucket ends, in 32 bits from where the first begins, and the buckets: entries one after another, about four to
/// each, in which an identifier's hash says where it is.
struct ContactBlock {
    private static let headerSize = 6
    private static let entriesInBucket = 4

    private let start: UnsafeRawPointer

    init(_ start: UnsafeRawPointer) { self.start = start }

    static func bucketCount(of contacts: Int) -> Int { (contacts + entriesInBucket - 1) / entriesInBucket }

    /// Without its entries.
    static func byteCount(owner: Int, buckets: Int) -> Int { headerSize + owner + buckets * MemoryLayout<UInt32>.size }

    /// The bucket of so many in which an identifier with this hash is.
    static func bucket(_ hash: UInt32, of count: Int) -> Int { (Int(hash) * count) >> 32 }

    /// Writes what stands before the entries, except where the buckets end.
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

/// One contact in memory: 8 bits of the identifier's hash, the name's direction, the lengths of both in 16 bits, identifier and
/// name. The name is clean, and empty for nobody's.
struct ContactEntry {
    static let headerSize = 6
    /// Of each of the texts.
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

    /// Among those between.
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
