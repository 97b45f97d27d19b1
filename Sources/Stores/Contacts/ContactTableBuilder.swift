import Glibc

/// Takes contacts in any order and puts each owner's together.
struct ContactTableBuilder: ~Copyable {
    private struct Owner {
        /// In `names`.
        let start: Int
        let count: Int
        var contacts = 0
        var firstBucket = 0

        var buckets: Int { ContactBlock.bucketCount(of: contacts) }
    }

    /// Each contact: its owner's number in 32 bits, and its entry.
    private var contacts: [UInt8] = []
    private var names: [UInt8] = []
    private var owners: [Owner] = []
    private var numbers = KeyIndex()

    /// What stays unused of the capacity is never touched, and costs nothing.
    init(capacity: Int) { contacts.reserveCapacity(capacity) }

    /// No table takes more than this: where a contact's bucket ends takes no more than its owner's number.
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

    /// Gives the blocks, and adds to the index where each owner's begins.
    consuming func finish(_ index: inout KeyIndex) -> [UInt8] {
        var bucketCount = 0
        for number in owners.indices {
            owners[number].firstBucket = bucketCount
            bucketCount += owners[number].buckets
        }
        let (order, starts) = sorted(bucketCount)
        return Array(unsafeUninitializedCapacity: size) { memory, count in
            let memory = UnsafeMutableRawBufferPointer(memory)
            memory.adviseHugePages()
            guard let base = memory.baseAddress else { return }
            contacts.withUnsafeBytes { contacts in
                names.withUnsafeBytes { names in
                    for owner in owners {
                        let name = Self.name(of: owner, in: names)
                        index.insert(KeyIndex.hash(name.bytes), count)
                        count += Self.write(owner, name, contacts, order, starts, at: base + count)
                    }
                }
            }
        }
    }

    /// Where the contacts are, by bucket and in each the last first; and where the buckets begin among them.
    private func sorted(_ bucketCount: Int) -> (order: [UInt32], starts: [UInt32]) {
        // Where each bucket ends, until all of it is there.
        var starts = [UInt32](repeating: 0, count: bucketCount + 1)
        var total: UInt32 = 0
        forEachContact { _, bucket in starts[bucket] += 1 }
        for bucket in starts.indices {
            total += starts[bucket]
            starts[bucket] = total
        }
        var order = [UInt32](repeating: 0, count: Int(total))
        forEachContact { place, bucket in
            starts[bucket] -= 1
            order[Int(starts[bucket])] = UInt32(truncatingIfNeeded: place)
        }
        return (order, starts)
    }

    private func forEachContact(_ body: (_ place: Int, _ bucket: Int) -> Void) {
        contacts.withUnsafeBytes { contacts in
            guard let base = contacts.baseAddress else { return }
            var at = 0
            while at < contacts.count {
                let owner = owners[Int(contacts.loadUnaligned(fromByteOffset: at, as: UInt32.self))]
                let place = at + MemoryLayout<UInt32>.size
                let entry = ContactEntry(base + place)
                let id = entry.id
                let bucket = ContactBlock.bucket(KeyIndex.hash(id.bytes), of: owner.buckets)
                body(place, owner.firstBucket + bucket)
                at = place + entry.bytes.count
            }
        }
    }

    /// Writes an owner's block; gives its length.
    private static func write(
        _ owner: Owner, _ name: UnsafeRawBufferPointer, _ contacts: UnsafeRawBufferPointer, _ order: [UInt32],
        _ starts: [UInt32], at block: UnsafeMutableRawPointer
    ) -> Int {
        guard let base = contacts.baseAddress else { return 0 }
        ContactBlock.write(owner: name, buckets: owner.buckets, at: block)
        let entries = block + ContactBlock.byteCount(owner: name.count, buckets: owner.buckets)
        var end = entries
        for bucket in 0..<owner.buckets {
            let start = end
            let number = owner.firstBucket + bucket
            for place in order[Int(starts[number])..<Int(starts[number + 1])] {
                let entry = ContactEntry(base + Int(place))
                let id = entry.id
                // The last one counts.
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
    /// Asks the kernel to map what lies in whole huge pages as such. Nothing in there may have been touched yet.
    fileprivate func adviseHugePages() {
        let page = 2 << 20
        guard let baseAddress else { return }
        let before = -Int(bitPattern: baseAddress) & (page - 1)
        if count >= before + page { madvise(baseAddress + before, count - before, MADV_HUGEPAGE) }
    }
}
