import Push
import TestSupport
import Testing

@testable import Stores

@Suite("Counts as the copy of a changelog")
struct ChangelogCountsTests {
    private static let now: Int64 = 1_700_000_000_000

    let folder: TemporaryFolder
    let state: StateFile

    init() throws {
        folder = try TemporaryFolder()
        state = try StateFile(path: folder.stateFile, access: .shared)
    }

    private func open(_ topic: String = "badges", _ cluster: String = "c") throws -> ChangelogCounts {
        try ChangelogCounts(state, topic: topic, cluster: cluster)
    }

    /// Records `anna=3` of one partition, the first at an offset of 10.
    private func apply(
        _ records: [String], partition: Int32 = 0, to counts: borrowing ChangelogCounts
    ) throws -> [RefusedRecord] {
        var held: [[UInt8]] = []
        for record in records {
            let parts = record.split(separator: "=", omittingEmptySubsequences: false).map { String($0) }
            var key: [UInt8] = []
            parts[0].withBytes { ChangelogRecord.appendKey($0, "".utf8Span.span.bytes, to: &key) }
            held += [key, Array(parts[1].utf8)]
        }
        return try held.withPointers { bytes in
            var batch = ChangelogBatch()
            let refused = records.indices.compactMap { index in
                let value = bytes[2 * index + 1]
                return batch.add(
                    TopicRecord(
                        RecordPosition(partition: partition, offset: Int64(10 + index), timestamp: Int64(index)),
                        key: bytes[2 * index], value: value.isEmpty ? nil : value))
            }
            try counts.apply(batch, now: Self.now)
            return refused
        }
    }

    /// What lanes would load.
    private func stored(_ recipient: String, partition: Int32 = 0) throws -> Int32 {
        try recipient.withBytes { (recipient) throws(StoreError) in
            try BadgeReader(state).count(
                recipient: recipient, app: "".utf8Span.span.bytes, lease: CountLease(of: partition))
        }
    }

    private func last(_ offset: Int64, _ timestamp: Int64, partition: Int32 = 0) -> RecordPosition {
        RecordPosition(partition: partition, offset: offset, timestamp: timestamp)
    }

    @Test("The latest record of an account is its count, no value is none, and each partition has its own")
    func applying() throws {
        let counts = try open()
        #expect(try counts.resume(0, now: Self.now) == nil)
        #expect(try apply(["anna=3", "boris=2", "anna=7", "boris=", "carl="], to: counts) == [])
        #expect(try apply(["anna=1"], partition: 5, to: counts) == [])
        #expect(try [stored("anna"), stored("boris"), stored("carl"), stored("anna", partition: 5)] == [7, 0, 0, 1])
        #expect(try stored("anna", partition: 1) == 0)
        let again = try open()
        #expect(try again.resume(0, now: Self.now) == last(14, 4))
        #expect(try again.resume(5, now: Self.now) == last(10, 0, partition: 5))
        #expect(try stored("anna") == 7)
    }

    @Test("A record that is no count is passed over with the reason")
    func refused() throws {
        let counts = try open()
        let refused = try apply(["anna=3", "anna=x", "boris=1"], to: counts)
        #expect(refused == [RefusedRecord(position: last(11, 1), what: "the value is not a count")])
        #expect(try stored("anna") == 3 && stored("boris") == 1)
        #expect(try counts.resume(0, now: Self.now) == last(12, 2))
    }

    @Test(
        "Counts of another topic or cluster are forgotten, all of them",
        arguments: [("badges", "c", true), ("badges", "d", false), ("other", "c", false)])
    func otherSource(topic: String, cluster: String, isKept: Bool) throws {
        let counts = try open()
        _ = try apply(["anna=3"], to: counts)
        _ = try apply(["anna=4"], partition: 1, to: counts)
        let again = try open(topic, cluster)
        #expect(try again.resume(1, now: Self.now) == (isKept ? last(10, 0, partition: 1) : nil))
        #expect(try stored("anna") == (isKept ? 3 : 0))
        #expect(try stored("anna", partition: 1) == (isKept ? 4 : 0))
    }

    @Test("Who was away for so long that a tombstone may be gone begins anew, with that partition only")
    func longAbsence() throws {
        let counts = try open()
        _ = try apply(["anna=3"], to: counts)
        _ = try apply(["anna=4"], partition: 1, to: counts)
        let later = Self.now + 11 * 3_600_000
        try counts.see([1], now: later)
        #expect(try counts.resume(1, now: later + 11 * 3_600_000) == last(10, 0, partition: 1))
        #expect(try counts.resume(0, now: later + 3_600_000) == nil)
        #expect(try stored("anna") == 0)
        #expect(try stored("anna", partition: 1) == 4)
    }

    /// Two commits of anna's and boris's counts in partition 3.
    private func commits(
        upTo positions: [[RecordPosition]], toldLate: Bool = false
    ) throws -> PendingCounts {
        let live = Counts()
        let lease = CountLease(of: 3)
        live.lease = lease
        var pending = PendingCounts()
        for (round, positions) in positions.enumerated() {
            for (name, operation) in [("anna", BadgeOperation.add(2)), ("boris", round == 0 ? .add(1) : .set(0))] {
                _ = try live.acknowledge(try live.process(name, operation), at: 0)
            }
            let changes = CountChanges(counts: live.settled.take().counts)
            if toldLate { lease.end() }
            pending.add(changes, upTo: positions)
        }
        return pending
    }

    @Test("Of several commits the store gets each account's latest count, and the last positions that are known")
    func saving() throws {
        let counts = try open()
        let pending = try commits(upTo: [[last(20, 5, partition: 3)], []])
        #expect(pending.count == 2)
        try counts.save(pending, now: Self.now)
        #expect(try stored("anna", partition: 3) == 4 && stored("boris", partition: 3) == 0)
        #expect(try counts.resume(3, now: Self.now) == last(20, 5, partition: 3))
    }

    @Test("A commit that is told when its partition has gone changes nothing: it is read again")
    func late() throws {
        #expect(try commits(upTo: [[last(20, 5, partition: 3)]], toldLate: true).isEmpty)
    }

    @Test("What a transaction changes is what its records say")
    func records() throws {
        let live = Counts()
        live.lease = CountLease(of: 7)
        for (name, count) in [("anna", Int32(3)), ("boris", 0)] {
            _ = try live.acknowledge(try live.process(name, .set(count), stored: 1), at: 0)
        }
        var texts: [String] = []
        CountChanges(counts: live.settled.take().counts).forEachRecord { partition, key, value in
            let account = try? ChangelogRecord.account(key)
            let count = value.map { String(decoding: $0, as: UTF8.self) } ?? "none"
            texts.append("\(partition) \(account?.recipient.bytes.text ?? "?")=\(count)")
        }
        #expect(texts == ["7 anna=3", "7 boris=none"])
    }
}

extension [[UInt8]] {
    /// Lends all of them at once.
    fileprivate func withPointers<Result>(_ body: ([UnsafeRawBufferPointer]) throws -> Result) rethrows -> Result {
        let copies = map { bytes in
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
            copy.copyBytes(from: bytes)
            return copy
        }
        defer { for copy in copies { copy.deallocate() } }
        return try body(copies.map { UnsafeRawBufferPointer($0) })
    }
}
