import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Comparing the log of contacts with the one that was read before")
struct LogComparisonTests {
    private func record(_ offset: Int64, _ timestamp: Int64 = 7) -> RecordPosition {
        RecordPosition(partition: 0, offset: offset, timestamp: timestamp)
    }

    private func comparison(
        _ marks: [Int64], in range: Range<Int64> = 0..<50_000
    ) throws -> LogComparison {
        try #require(LogComparison(marks.map { record($0) }, in: range))
    }

    @Test("The log is the same if it has the same records at all marks")
    func same() throws {
        var whole = try comparison([3, 5, 6])
        expect(whole.start, is: 3)
        expect([3, 4, 5, 6].map { whole.compare(record($0)) }, is: [.open, .open, .open, .same])
        var ended = try comparison([3, 5, 6])
        expect([3, 5, 6].map { ended.compare(record($0)) }, is: [.open, .open, .same])
        expect(ended.verdict, is: .same)
    }

    @Test("A log that lost its end and grew beyond what was read differs at an earlier mark", arguments: [3, 5, 6])
    func different(at offset: Int64) throws {
        var comparison = try comparison([3, 5, 6])
        for earlier in 3..<offset { expect(comparison.compare(record(earlier)), is: .open) }
        expect(comparison.compare(record(offset, 8)), is: .different)
    }

    @Test("A log that ends before what was read is another one")
    func shorter() throws {
        var comparison = try comparison([3, 5, 6])
        #expect(comparison.compare(record(3)) == .open && comparison.verdict == .different)
    }

    @Test("A log without one of the records may have lost it with others", arguments: [3, 5, 6])
    func gone(at offset: Int64) throws {
        var comparison = try comparison([3, 5, 6])
        for earlier in 3..<offset { expect(comparison.compare(record(earlier)), is: .open) }
        expect(comparison.compare(record(offset + 1)), is: .different)
    }

    @Test("Of a long log only the last records are read again, and one far back is compared alone")
    func distant() throws {
        let first = try comparison([3, 20_000, 35_000, 40_000])
        #expect(first.start == 35_000 && first.distant == record(3))
        let near = try comparison([39_000, 40_000])
        #expect(near.start == 39_000 && near.distant == nil)
        // The log's beginning was deleted.
        let cut = try comparison([3, 35_000, 40_000], in: 36_000..<50_000)
        #expect(cut.start == 40_000 && cut.distant == nil)
        #expect(LogComparison([], in: 0..<9) == nil)
    }
}
