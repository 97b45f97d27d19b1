import Glibc

/// The memory of a document: its text and index. Copies of a document share it until one of them changes.
///
/// Unchecked because of its pointers: only a sole owner changes it, and shared storage is only read.
@usableFromInline
final class JSONStorage: @unchecked Sendable {
    /// In bytes. Storage that has grown beyond this for one text is freed before the next.
    private static let keptCapacity = 1 << 16

    // Only a sole owner changes these, so no exclusivity checks are needed at run time.

    /// The text read, its padding, a comma to put between members, then the text that edits have added.
    @exclusivity(unchecked) var bytes = Region<UInt8>(capacity: 1024)
    @exclusivity(unchecked) var records = Region<JSONRecord>(capacity: 32)
    /// Each record as it was before a change, in order.
    @exclusivity(unchecked) var journal = Region<JSONChange>(capacity: 32)
    @exclusivity(unchecked) var sourceCount = 0
    /// The member that got each known name last, from the text or an edit; 0 if none did. After an undone edit, it may
    /// be the number of no record, or of another one.
    @exclusivity(unchecked) var latest = InlineArray<16, UInt32>(repeating: 0)
    /// Identifies the text read last: no other has this number.
    @exclusivity(unchecked) private(set) var reading: UInt64
    /// The number of the last change, undone or not: no other change of this text or of its copies has it.
    @exclusivity(unchecked) var change = UInt64.random(in: .min ... .max)

    /// Holds the empty object.
    init() {
        reading = change
        clear()
    }

    init(copyOf other: JSONStorage) {
        reading = other.reading
        bytes.append(other.bytes.base, count: other.bytes.count)
        records.append(other.records.base, count: other.records.count)
        journal.append(other.journal.base, count: other.journal.count)
        sourceCount = other.sourceCount
        latest = other.latest
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

    /// Stores a text without indexing it.
    func store(_ source: UnsafeRawBufferPointer) {
        journal.clear(keeping: Self.keptCapacity)
        records.clear(keeping: Self.keptCapacity)
        bytes.clear(keeping: Self.keptCapacity)
        sourceCount = source.count
        latest = InlineArray(repeating: 0)
        reading &+= 1
        // Reserved at once, so the text is not copied again as the memory grows.
        bytes.reserve(source.count + JSONDocument.padding + 1)
        if let text = source.baseAddress {
            bytes.append(text.assumingMemoryBound(to: UInt8.self), count: source.count)
        }
        bytes.appendZeros(JSONDocument.padding)
        bytes.append(UInt8(ascii: ","))
    }
}

struct JSONChange: BitwiseCopyable {
    let number: UInt64
    let index: UInt32
    let before: JSONRecord
}

/// Memory that grows. No bounds are checked: callers must stay within what was appended or reserved.
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

    /// Makes room for `more` elements.
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

    /// Adds elements that the caller has written behind the last one, in reserved memory.
    mutating func take(_ more: Int) { count += more }

    /// Overwrites the memory, which may have held secrets, or only its first `count` elements.
    func wipe(upTo count: Int = .max) { explicit_bzero(base, min(count, capacity) * MemoryLayout<Element>.stride) }

    /// Drops all elements after the first `count`.
    mutating func cut(to count: Int) { self.count = min(self.count, count) }

    /// Drops all elements, and shrinks the memory if it is larger than `limit` bytes.
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
