import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("The table of entries")
struct EntryTableTests {
    @Test("The table gives out each of its entries once, none of them 0, and then none")
    func capacity() {
        var entries = EntryTable(capacity: 3)
        let given = [entries.insert(bytes: 1), entries.insert(bytes: 2), entries.insert(bytes: 3)]
        expect(given.sorted(), is: [1, 2, 3])
        expect(entries.insert(bytes: 4), is: 0)
        expect(entries.count, is: 3)
        expect(entries.byteCount, is: 6)
    }

    @Test("A freed entry is given out again, as new, under another tag")
    func reuse() {
        var entries = EntryTable(capacity: 1)
        let first = entries.insert(bytes: 10)
        let tag = entries.tag(of: first)
        entries[first].offset = 7
        entries[first].holdsKey = true
        entries[first].isUnanswered = true
        expect(entries.index(ofTag: tag), is: first)
        entries.remove(first)
        #expect(entries.index(ofTag: tag) == nil)
        expect(entries.byteCount, is: 0)
        let second = entries.insert(bytes: 5)
        expect(second, is: first)
        #expect(entries.index(ofTag: tag) == nil)
        #expect(entries.tag(of: second) != tag)
        let isNew =
            entries[second].offset == 0 && !entries[second].holdsKey && !entries[second].isUnanswered
            && entries[second].state == .waiting
        #expect(isNew)
    }

    @Test("A tag of no entry, or of a changelog record, finds no entry")
    func foreignTags() {
        var entries = EntryTable(capacity: 2)
        let entry = entries.insert(bytes: 0)
        #expect(entries.index(ofTag: 0) == nil)
        #expect(entries.index(ofTag: 3) == nil)
        #expect(entries.index(ofTag: UInt64(UInt32.max)) == nil)
        #expect(EntryTable.change(ofTag: entries.tag(of: entry)) == nil)
        #expect(entries.index(ofTag: EntryTable.changeTag(UInt32(entry), 0)) == nil)
    }

    @Test(
        "A changelog record's tag contains the numbers of the change and of its partition",
        arguments: [(1, 0), (.max, .max), (77, 12)] as [(UInt32, Int32)])
    func changeTags(sequence: UInt32, partition: Int32) throws {
        let change = try #require(EntryTable.change(ofTag: EntryTable.changeTag(sequence, partition)))
        #expect(change == (sequence, partition))
    }

    @Test("Account names of any length are kept for their entry alone", arguments: [0, 1, 63, 64, 65, 300])
    func names(length: Int) {
        var entries = EntryTable(capacity: 2)
        let (first, second) = (entries.insert(bytes: 0), entries.insert(bytes: 0))
        let name = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        name.withUnsafeBytes { entries.setName($0, of: first) }
        [9].withUnsafeBytes { entries.setName(UnsafeRawBufferPointer(rebasing: $0[..<1]), of: second) }
        var bytes: [UInt8] = [255]
        entries.appendName(of: first, to: &bytes)
        expect(bytes, is: [255] + name)
        entries.remove(first)
        let again = entries.insert(bytes: 0)
        [8].withUnsafeBytes { entries.setName(UnsafeRawBufferPointer(rebasing: $0[..<1]), of: again) }
        bytes = []
        entries.appendName(of: again, to: &bytes)
        entries.appendName(of: second, to: &bytes)
        expect(bytes, is: [8, 9])
    }
}
