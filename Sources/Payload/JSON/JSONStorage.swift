import Glibc

/// The memory of a document: its text and the index of that. Copies of a document share it until one of them changes.
///
/// Unchecked because of its pointers: who changes it is its only owner, and what is shared is only read.
@usableFromInline
final class JSONStorage: @unchecked Sendable {
    /// Bytes. Storage that has grown further for one text is given back before the next.
    private static let keptCapacity = 1 << 16

    // With one owner there is no access to exclude at run time.

    /// The text read, its padding, a comma to put between members, then what edits have added.
    @exclusivity(unchecked) var bytes = Region<UInt8>(capacity: 1024)
    @exclusivity(unchecked) var records = Region<JSONRecord>(capacity: 32)
    /// Each record as it was before a change, in order.
    @exclusivity(unchecked) var journal = Region<JSONChange>(capacity: 32)
    @exclusivity(unchecked) var sourceCount = 0
    /// The member that was given each known name last, by the text or an edit; 0 where none was. An edit that was undone may
    /// have left a number of nothing, or of another record.
    @exclusivity(unchecked) var latest = InlineArray<16, UInt32>(repeating: 0)
    /// Of the text read last: no other has this number.
    @exclusivity(unchecked) private(set) var reading = UInt64.random(in: .min ... .max)

    /// Of the empty object.
    init() { clear() }

    init(copyOf other: JSONStorage) {
        bytes.append(other.bytes.base, count: other.bytes.count)
        records.append(other.records.base, count: other.records.count)
        journal.append(other.journal.base, count: other.journal.count)
        sourceCount = other.sourceCount
        latest = other.latest
        reading = other.reading
    }

    var isLarge: Bool {
        bytes.capacity > Self.keptCapacity
            || records.capacity * MemoryLayout<JSONRecord>.stride > Self.keptCapacity
            || journal.capacity * MemoryLayout<JSONChange>.stride > Self.keptCapacity
    }

    func clear() {
        store(("{}" as StaticString).bytes)
        records.append(JSONRecord(start: 0, end: UInt32(sourceCount), kind: .object))
    }

    /// Takes a text, which is not indexed yet.
    func store(_ source: UnsafeRawBufferPointer) {
        journal.clear(keeping: Self.keptCapacity)
        records.clear(keeping: Self.keptCapacity)
        bytes.clear(keeping: Self.keptCapacity)
        sourceCount = source.count
        latest = InlineArray(repeating: 0)
        reading &+= 1
        // Where it grew on the way, it would leave copies of the text behind, which may hold keys.
        bytes.reserve(source.count + JSONDocument.padding + 1)
        if let text = source.baseAddress {
            bytes.append(text.assumingMemoryBound(to: UInt8.self), count: source.count)
        }
        bytes.appendZeros(JSONDocument.padding)
        bytes.append(UInt8(ascii: ","))
    }
}

/// A record as it was before a change.
struct JSONChange: BitwiseCopyable {
    let index: UInt32
    let before: JSONRecord
}

/// Memory that grows. No bounds are checked: who reads or writes keeps to what was appended, or to what was reserved.
struct Region<Element: BitwiseCopyable>: ~Copyable {
    private(set) var base: UnsafeMutablePointer<Element>
    private(set) var count = 0
    private(set) var capacity: Int

    init(capacity: Int) {
        base = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    deinit { base.deallocate() }

    /// Where the next element goes.
    var end: UnsafeMutablePointer<Element> { base + count }

    /// Makes room for so many more.
    @inline(__always)
    mutating func reserve(_ more: Int) { if capacity &- count < more { grow(by: more) } }

    @inline(never)
    private mutating func grow(by more: Int) { move(to: max(count + more, capacity * 2)) }

    private mutating func move(to capacity: Int) {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
        larger.update(from: base, count: count)
        wipe()
        base.deallocate()
        base = larger
        self.capacity = capacity
    }

    @inline(__always)
    mutating func append(_ element: Element) {
        reserve(1)
        end.initialize(to: element)
        count &+= 1
    }

    mutating func append(_ elements: UnsafePointer<Element>, count more: Int) {
        reserve(more)
        end.update(from: elements, count: more)
        count += more
    }

    /// What was written behind the last element, in memory reserved before, belongs to them.
    mutating func take(_ more: Int) { count += more }

    /// Overwrites the memory, which may have held secrets, or so many elements of it.
    func wipe(upTo count: Int = .max) { explicit_bzero(base, min(count, capacity) * MemoryLayout<Element>.stride) }

    /// The elements behind the first `count` go; where there are fewer, nothing.
    mutating func cut(to count: Int) { self.count = min(self.count, count) }

    /// All elements go, and the memory too where it has become larger than `limit` bytes.
    mutating func clear(keeping limit: Int) {
        count = 0
        let most = limit / MemoryLayout<Element>.stride
        if capacity > most { move(to: most) }
    }
}

extension Region<UInt8> {
    mutating func appendZeros(_ count: Int) {
        reserve(count)
        end.update(repeating: 0, count: count)
        take(count)
    }

    mutating func append(_ text: StaticString) { append(text.utf8Start, count: text.utf8CodeUnitCount) }
}
