import Glibc
import PushmillPayload

/// Takes contacts in any order and groups them by owner.
struct ContactTableBuilder: ~Copyable {
    private struct Owner {
        /// In `names`.
        let start: Int
        let count: Int
        var contacts = 0
        var firstBucket = 0

        var buckets: Int { ContactBlock.bucketCount(of: contacts) }
    }

    /// A contact's bucket, among those of all owners, and its entry's offset in `contacts`.
    private typealias Place = (bucket: UInt32, entry: UInt32)

    /// Each contact: its owner's number in 32 bits, and its entry.
    private var contacts: [UInt8] = []
    private var names: [UInt8] = []
    private var owners: [Owner] = []
    private var numbers = KeyIndex()

    /// Capacity that stays unused is never touched, and costs nothing.
    init(capacity: Int) { contacts.reserveCapacity(capacity) }

    /// An upper bound of the table's size: a contact's bucket end takes no more than its owner's number.
    var size: Int {
        contacts.count + names.count + owners.count * ContactBlock.byteCount(owner: 0, buckets: 1)
    }

    /// False if one of the texts is too long.
    mutating func add(_ owner: RawSpan, _ id: RawSpan, _ name: [UInt8]) -> Bool {
        guard max(owner.byteCount, id.byteCount, name.count) <= ContactEntry.longest else { return false }
        let number = number(of: owner)
        owners[number].contacts += 1
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: number)) { contacts.append(contentsOf: $0) }
        ContactEntry.append(id, KeyIndex.hash(id), name, to: &contacts)
        return true
    }

    private mutating func number(of owner: RawSpan) -> Int {
        let hash = KeyIndex.hash(owner)
        let known = numbers.find(hash) { number in
            names.withUnsafeBytes { names in
                let name = Self.name(of: owners[number], in: names)
                return owner.hasSameBytes(as: name.bytes)
            }
        }
        if let known { return known }
        owners.append(Owner(start: names.count, count: owner.byteCount))
        owner.withUnsafeBytes { names.append(contentsOf: $0) }
        numbers.insert(hash, owners.count - 1)
        return owners.count - 1
    }

    /// Returns the blocks, and adds the offset of each owner's block to the index.
    consuming func finish(_ index: inout KeyIndex) -> [UInt8] {
        var bucketCount = 0
        for number in owners.indices {
            owners[number].firstBucket = bucketCount
            bucketCount += owners[number].buckets
        }
        let order = sorted()
        return Array(unsafeUninitializedCapacity: size) { memory, count in
            let memory = UnsafeMutableRawBufferPointer(memory)
            memory.adviseHugePages()
            guard let base = memory.baseAddress else { return }
            contacts.withUnsafeBytes { contacts in
                names.withUnsafeBytes { names in
                    var rest = order[...]
                    for owner in owners {
                        let name = Self.name(of: owner, in: names)
                        index.insert(KeyIndex.hash(name.bytes), count)
                        count += Self.write(owner, name, contacts, &rest, at: base + count)
                    }
                }
            }
        }
    }

    /// By bucket, and in each the last contact first.
    private func sorted() -> [Place] {
        var order: [Place] = []
        order.reserveCapacity(owners.reduce(0) { $0 + $1.contacts })
        contacts.withUnsafeBytes { contacts in
            guard let base = contacts.baseAddress else { return }
            var at = 0
            while at < contacts.count {
                let owner = owners[Int(contacts.loadUnaligned(fromByteOffset: at, as: UInt32.self))]
                at += MemoryLayout<UInt32>.size
                let entry = ContactEntry(base + at)
                let id = entry.id
                let bucket = owner.firstBucket + ContactBlock.bucket(KeyIndex.hash(id.bytes), of: owner.buckets)
                order.append((UInt32(truncatingIfNeeded: bucket), UInt32(truncatingIfNeeded: at)))
                at += entry.bytes.count
            }
        }
        order.sort { $0.bucket != $1.bucket ? $0.bucket < $1.bucket : $0.entry > $1.entry }
        return order
    }

    /// Writes an owner's block and returns its length.
    private static func write(
        _ owner: Owner, _ name: UnsafeRawBufferPointer, _ contacts: UnsafeRawBufferPointer,
        _ order: inout ArraySlice<Place>, at block: UnsafeMutableRawPointer
    ) -> Int {
        guard let base = contacts.baseAddress else { return 0 }
        ContactBlock.write(owner: name, buckets: owner.buckets, at: block)
        let entries = block + ContactBlock.byteCount(owner: name.count, buckets: owner.buckets)
        var end = entries
        for bucket in 0..<owner.buckets {
            let start = end
            while let place = order.first, Int(place.bucket) == owner.firstBucket + bucket {
                order.removeFirst()
                let entry = ContactEntry(base + Int(place.entry))
                let id = entry.id
                // The last contact of an identifier counts, and comes first in this order.
                if ContactEntry.find(id.bytes, KeyIndex.hash(id.bytes), from: start, to: end) != nil { continue }
                UnsafeMutableRawBufferPointer(start: end, count: entry.bytes.count).copyMemory(from: entry.bytes)
                end += entry.bytes.count
            }
            ContactBlock.writeEnd(end - entries, of: bucket, owner: name.count, at: block)
        }
        return end - block
    }

    private static func name(of owner: Owner, in names: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: names[owner.start..<owner.start + owner.count])
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Asks the kernel for huge pages where whole ones fit. None of them may have been touched yet.
    fileprivate func adviseHugePages() {
        let page = 2 << 20
        guard let baseAddress else { return }
        let before = -Int(bitPattern: baseAddress) & (page - 1)
        if count >= before + page { madvise(baseAddress + before, count - before, MADV_HUGEPAGE) }
    }
}
