/// Finds a table's translations by the bytes of their keys. Open addressing, at most half full.
struct KeyIndex {
    struct Entry {
        /// In the text of the table.
        let keyStart: UInt32
        let keyCount: UInt32
        var program: UInt32
        var signature: FormatSignature
    }

    private(set) var entries: [Entry] = []
    /// One more than the place in `entries`; 0 is free.
    private var slots = [UInt32](repeating: 0, count: 8)

    static func hash(_ key: UnsafeBufferPointer<UInt8>) -> UInt64 { ByteHash.hash(UnsafeRawBufferPointer(key)) }

    /// The place in `entries` of a key with this hash.
    func find(_ key: UnsafeBufferPointer<UInt8>, hash: UInt64, in text: [UInt8]) -> Int? {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 {
            let place = Int(slots[slot] - 1)
            if isKey(entries[place], key, text) { return place }
            slot = (slot + 1) & mask
        }
        return nil
    }

    /// Adds an entry whose key is not there yet.
    mutating func insert(_ entry: Entry, hash: UInt64, in text: [UInt8]) {
        entries.append(entry)
        if entries.count * 2 > slots.count {
            grow(in: text)
        } else {
            place(entries.count, hash: hash)
        }
    }

    mutating func replace(_ place: Int, program: UInt32, signature: FormatSignature) {
        entries[place].program = program
        entries[place].signature = signature
    }

    /// Gives back what growing has set aside.
    mutating func trim() { entries = entries.withUnsafeBufferPointer { Array($0) } }

    func key(of entry: Entry, in text: [UInt8]) -> ArraySlice<UInt8> {
        text[Int(entry.keyStart)..<Int(entry.keyStart + entry.keyCount)]
    }

    private func isKey(_ entry: Entry, _ key: UnsafeBufferPointer<UInt8>, _ text: [UInt8]) -> Bool {
        guard Int(entry.keyCount) == key.count else { return false }
        let start = Int(entry.keyStart)
        for position in 0..<key.count where text[start + position] != key[position] { return false }
        return true
    }

    private mutating func grow(in text: [UInt8]) {
        slots = [UInt32](repeating: 0, count: slots.count * 2)
        for (place, entry) in entries.enumerated() {
            let hash = key(of: entry, in: text).withUnsafeBufferPointer(Self.hash)
            self.place(place + 1, hash: hash)
        }
    }

    private mutating func place(_ number: Int, hash: UInt64) {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 { slot = (slot + 1) & mask }
        slots[slot] = UInt32(number)
    }
}
