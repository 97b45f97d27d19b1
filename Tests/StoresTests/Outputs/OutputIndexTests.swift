import PushmillTestSupport
import Testing

@testable import PushmillStores

@Suite("Outputs by the place of their input")
struct OutputIndexTests {
    private func place(_ offset: Int64, _ partition: Int32 = 0, _ topic: String = "a") -> OutputIndex.Place {
        OutputIndex.Place(topic: topic, partition: partition, offset: offset)
    }

    @Test("The last output put for a place is found by that place")
    func found() throws {
        var index = try OutputIndex()
        try index.put([1], at: place(5))
        try index.put([2], at: place(5, 1))
        try index.put([3], at: place(5, 0, "b"))
        let isSame = try [index.put([4], at: place(5)), index.put([4], at: place(5)), index.put([], at: place(6))]
        expect(isSame, is: [false, true, true])
        try expect(index.take(place(5)), is: [4])
        try expect(index.take(place(5, 1)), is: [2])
        try expect(index.take(place(5, 0, "b")), is: [3])
        try expect(index.take(place(6)), is: [])
        #expect(try index.take(place(7)) == nil)
        #expect(try index.take(place(5, 0, "c")) == nil)
        expect(index.count, is: 6)
        expect(index.topics, is: ["a", "b"])
    }

    @Test("A full disk is an error that says where the temporary file is")
    func full() throws {
        let database = try Database.open(path: "")
        try database.execute("CREATE TABLE t(x); PRAGMA max_page_count=2")
        let error = #expect(throws: StoreError.self) { try database.execute("INSERT INTO t VALUES(zeroblob(100000))") }
        expect(error?.description.hasPrefix("a temporary file (in TMPDIR, or else"), is: true)
        expect(error?.description.contains("full"), is: true)
    }

    @Test("Outputs that were not taken come in the order of topic, partition and offset")
    func left() throws {
        var index = try OutputIndex()
        for offset in [9, 3, 7, 1] { try index.put([UInt8(offset)], at: place(Int64(offset))) }
        try index.put([100], at: place(2, 1))
        try expect(index.take(place(7)), is: [7])
        var left = try index.left()
        var found: [[UInt8]] = []
        while let next = try left.next() { found.append(next.bytes) }
        expect(found, is: [[1], [3], [9], [100]])
    }
}
