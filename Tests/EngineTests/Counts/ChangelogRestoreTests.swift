import PushmillKafka
import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Restoring counts from the changelog")
struct ChangelogRestoreTests {
    private static let secret = AccountSecret(1, 2)

    private static func key(_ recipient: String) -> [UInt8] {
        var bytes: [UInt8] = []
        Array(recipient.utf8).withUnsafeBytes { recipient in
            ChangelogRecord.encodeKey(recipient, UnsafeRawBufferPointer(start: nil, count: 0), into: &bytes)
        }
        return bytes
    }

    private static func take(
        _ restore: inout ChangelogRestore, _ number: Int32, _ offset: Int64, _ recipient: String, _ value: String?,
        timestamp: Int64 = 1
    ) -> ShardNews? {
        key(recipient).withUnsafeBytes { key -> ShardNews? in
            func take(_ value: UnsafeRawBufferPointer?) -> ShardNews? {
                restore.take(
                    .record(partition: number, offset: offset, timestamp: timestamp, key: key, value: value))
            }
            guard let value else { return take(nil) }
            return Array(value.utf8).withUnsafeBytes { take($0) }
        }
    }

    private static func reading(_ number: Int32, from last: RecordPosition? = nil) -> ChangelogRestore {
        var restore = ChangelogRestore()
        restore.add(7)
        _ = restore.takeTurns()
        restore.begin(7, number: number, secret, from: last)
        return restore
    }

    @Test("Each partition gets one turn, with at most 512 partitions at a time")
    func turns() {
        var restore = ChangelogRestore()
        #expect(restore.isIdle)
        for partition in Int32(0)..<600 { restore.add(partition) }
        restore.add(5)
        let first = restore.takeTurns()
        expect(first.count, is: 512)
        for partition in first { restore.begin(partition, number: partition, Self.secret, from: nil) }
        expect(restore.takeTurns(), is: [])
        #expect(restore.contains(599))
        restore.remove(first[0])
        expect(restore.takeTurns(), is: [512])
    }

    @Test("A count of a newer release stops its partition's restore, which stays incomplete")
    func newer() {
        var restore = Self.reading(3)
        #expect(Self.take(&restore, 3, 10, "anna", "4 20") == nil)
        let newer = RecordPosition(partition: 3, offset: 11, timestamp: 1)
        let reason = "the value has version 3, which this release does not know"
        expect(Self.take(&restore, 3, 11, "bert", "v3 5 21"), is: .changelogNewer(newer, reason: reason))
        #expect(Self.take(&restore, 3, 12, "anna", "6 22") == nil)
        #expect(restore.index(ofNumber: 3) == nil)
        #expect(restore.takeStarts().isEmpty)
        #expect(restore.reading.map(\.rows.count) == [1] && restore.reading.allSatisfy { !$0.isWhole })
    }

    @Test("A changelog is read from the last record that the disk has, or from its beginning")
    func starts() {
        var restore = Self.reading(3)
        #expect(restore.isChanged)
        expect(restore.takeStarts(), is: [RecordPosition(partition: 3, offset: Position.beginning)])
        #expect(!restore.isChanged)
        var known = Self.reading(3, from: RecordPosition(partition: 3, offset: 9, timestamp: 4))
        expect(known.takeStarts(), is: [RecordPosition(partition: 3, offset: 9)])
    }

    @Test("A restore continues where it is while other partitions come and go")
    func goesOn() {
        var restore = Self.reading(3, from: RecordPosition(partition: 3, offset: 9, timestamp: 4))
        restore.begin(8, number: 4, Self.secret, from: nil)
        // Until the last known record is seen, the log may be another one.
        #expect(restore.take(.end(partition: 3, offset: 12, isWhole: true)) == nil)
        expect(restore.takeStarts().map(\.offset), is: [9, Position.beginning])
        #expect(Self.take(&restore, 3, 9, "anna", "1", timestamp: 4) == nil)
        #expect(Self.take(&restore, 4, 5, "bert", "x") != nil)
        expect(restore.takeStarts().map(\.offset), is: [10, 6])
        // A transaction marker is no record, but takes an offset.
        #expect(restore.take(.end(partition: 3, offset: 12, isWhole: true)) == nil)
        restore.remove(8)
        expect(restore.takeStarts().map(\.offset), is: [12])
    }

    @Test("Records become rows of their partition; records of other partitions are ignored")
    func rows() {
        var restore = Self.reading(3)
        #expect(Self.take(&restore, 3, 0, "anna", "2 17 1") == nil)
        #expect(Self.take(&restore, 4, 0, "bert", "9") == nil)
        #expect(Self.take(&restore, 3, 1, "carl", nil) == nil)
        let hash = Self.key("anna").withUnsafeBytes { Self.secret.hash($0) }
        expect(restore.reading[0].rows.map(\.state.count), is: [2, 0])
        expect(restore.reading[0].rows[0].account, is: hash)
        expect(restore.reading[0].rows[0].state, is: CountState(count: 2, incarnation: 1, offset: 17))
        expect(restore.reading[0].last?.offset, is: 1)
        expect(restore.reading[0].count, is: 2)
        expect(restore.key(of: 0, in: restore.reading[0]), is: Self.key("anna"))
        restore.applied()
        #expect(restore.reading[0].rows.isEmpty)
    }

    @Test("A record that is not a count is reported and skipped", arguments: ["x", "1 ", "01", "1 2 0"])
    func malformed(value: String) {
        var restore = Self.reading(3)
        guard case .changelogNotARecord = Self.take(&restore, 3, 0, "anna", value) else {
            Issue.record("\(value) was taken")
            return
        }
        #expect(restore.reading[0].rows.isEmpty)
        expect(restore.reading[0].last?.offset, is: 0)
    }

    @Test(
        "Another record at the last known offset means another log, read from its beginning",
        arguments: [(4, 5), (0, 5), (4, 0)] as [(Int64, Int64)])
    func anew(known: Int64, found: Int64) {
        var restore = Self.reading(3, from: RecordPosition(partition: 3, offset: 9, timestamp: known))
        expect(Self.take(&restore, 3, 9, "anna", "1", timestamp: found), is: .changelogAnew(partition: 3))
        #expect(restore.index(ofNumber: 3) == nil)
        // Records that still come from the earlier read are ignored.
        #expect(Self.take(&restore, 3, 10, "anna", "1") == nil)
        #expect(restore.reading[0].rows.isEmpty)
        expect(restore.takeStarts(), is: [RecordPosition(partition: 3, offset: Position.beginning)])
        expect(restore.index(ofNumber: 3), is: 0)
    }

    @Test(
        "The same record, a later one after compaction, or one without a timestamp means the same log",
        arguments: [(4, 9, 4), (4, 12, 77), (4, 9, -1), (-1, 9, 4)] as [(Int64, Int64, Int64)])
    func same(known: Int64, offset: Int64, timestamp: Int64) {
        var restore = Self.reading(3, from: RecordPosition(partition: 3, offset: 9, timestamp: known))
        #expect(Self.take(&restore, 3, offset, "anna", "1", timestamp: timestamp) == nil)
        // Only the first record is compared.
        #expect(Self.take(&restore, 3, offset + 1, "anna", "1", timestamp: 1000) == nil)
    }

    @Test("Each recreated log is reported once, and is read from its beginning without its old counts")
    func anewByEvents() {
        var restore = ChangelogRestore()
        for number in Int32(0)..<4 {
            let last = RecordPosition(partition: number, offset: 9, timestamp: 4)
            restore.begin(10 + number, number: number, Self.secret, from: last)
        }
        expect(Self.take(&restore, 0, 9, "anna", nil, timestamp: 5), is: .changelogAnew(partition: 0))
        // One log ends before the last known record; one does not hold the offset that was to be read.
        expect(restore.take(.end(partition: 1, offset: 9, isWhole: true)), is: .changelogAnew(partition: 1))
        expect(restore.take(.outOfLog(partition: 2)), is: .changelogAnew(partition: 2))
        #expect(restore.take(.end(partition: 3, offset: 10, isWhole: true)) == nil)
        for number in Int32(0)..<3 { #expect(restore.take(.outOfLog(partition: number)) == nil) }
        expect(restore.anew, is: [10, 11, 12])
        expect(restore.reading.map(\.isWhole), is: [false, false, false, true])
        expect(restore.takeStarts().map(\.offset), is: [Position.beginning, Position.beginning, Position.beginning, 9])
        expect(restore.anew, is: [])
    }

    @Test(
        "Of a log that ends too early, the first record tells whether it was cut or recreated",
        arguments: [(3, false), (4, false), (5, true), (-1, true)] as [(Int64, Bool)])
    func cut(timestamp: Int64, isAnother: Bool) {
        var restore = Self.reading(3, from: RecordPosition(partition: 3, offset: 9, timestamp: 4))
        expect(restore.take(.end(partition: 3, offset: 6, isWhole: true)), is: .changelogAnew(partition: 3))
        expect(restore.takeForgotten(), is: [])
        _ = restore.takeStarts()
        #expect(Self.take(&restore, 3, 0, "anna", "2 1", timestamp: timestamp) == nil)
        #expect(Self.take(&restore, 3, 1, "bert", "2 1", timestamp: 5) == nil)
        #expect(restore.take(.end(partition: 3, offset: 6, isWhole: true)) == nil)
        expect(restore.takeForgotten(), is: isAnother ? [7] : [])
        expect(restore.takeForgotten(), is: [])
        expect(restore.reading[0].rows.count, is: 2)
    }

    @Test("An empty log is another one, and so is one whose last known record had no timestamp", arguments: [4, -1])
    func empty(timestamp: Int64) {
        var restore = Self.reading(3, from: RecordPosition(partition: 3, offset: 9, timestamp: timestamp))
        expect(restore.take(.end(partition: 3, offset: 0, isWhole: true)), is: .changelogAnew(partition: 3))
        _ = restore.takeStarts()
        #expect(restore.take(.end(partition: 3, offset: 0, isWhole: true)) == nil)
        expect(restore.takeForgotten(), is: [7])
    }

    @Test("A log that is recreated during its restore is not whole and has no rows")
    func anewWhileRead() {
        var restore = Self.reading(3)
        #expect(Self.take(&restore, 3, 0, "anna", "2 1") == nil)
        #expect(restore.take(.end(partition: 3, offset: 1, isWhole: true)) == nil)
        expect(restore.take(.outOfLog(partition: 3)), is: .changelogAnew(partition: 3))
        #expect(restore.reading.allSatisfy { $0.rows.isEmpty && !$0.isWhole && $0.last == nil })
        expect(restore.takeStarts().map(\.offset), is: [Position.beginning])
    }

    @Test("An open transaction before a changelog's end is reported once")
    func heldUp() {
        var restore = Self.reading(3)
        let open = ChangelogEvent.end(partition: 3, offset: 5, isWhole: false)
        expect(restore.take(open), is: .changelogHeldUp(partition: 3, offset: 5))
        #expect(restore.take(open) == nil)
        expect(restore.reading[0].isWhole, is: false)
        #expect(restore.take(.end(partition: 3, offset: 8, isWhole: true)) == nil)
        #expect(restore.reading[0].isWhole)
    }
}
