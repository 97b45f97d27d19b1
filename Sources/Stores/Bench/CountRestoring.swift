import Glibc

/// What it takes to put a partition's counts into an empty store, as a restore does when the brokers keep up with it.
package struct CountRestoring: Sendable {
    package let count: Int
    package let seconds: Double
    /// That the store has grown to.
    package let megabytes: Double

    /// Writes into the folder.
    package init(in folder: String, count: Int = 1_000_000) throws(StoreError) {
        let path = "\(folder)/counts.sqlite"
        let state = try StateFile(path: path, access: .alone)
        let clock = ContinuousClock()
        let begin = clock.now
        do {
            let store = try ChangelogCounts(state, topic: "badges", cluster: "bench")
            var batch = Sample()
            for record in 0..<count {
                batch.add(record, of: count)
                if batch.isFull || record == count - 1 { try batch.move(to: store) }
            }
        }
        self.count = count
        seconds = (clock.now - begin) / .seconds(1)
        var status = stat()
        stat(path, &status)
        megabytes = Double(status.st_size) / 1e6
    }
}

/// Records in the order of a log, which is none of their keys.
private struct Sample {
    private static let size = 20_000
    private static let step = 7_919_317

    private var bytes: [UInt8] = []
    private var records: [(key: Range<Int>, value: Range<Int>)] = []
    private var offset: Int64 = 0

    var isFull: Bool { records.count == Self.size }

    mutating func add(_ record: Int, of count: Int) {
        let recipient = Array("0f8fad5b-d9cb-469f-a165-\(100_000_000_000 + record &* Self.step % count)".utf8)
        let app = Array("com.example.messenger".utf8)
        let start = bytes.count
        ChangelogRecord.appendKey(recipient.span.bytes, app.span.bytes, to: &bytes)
        let end = bytes.count
        _ = ChangelogRecord.appendValue(Int32(truncatingIfNeeded: record % 100 + 1), to: &bytes)
        records.append((start..<end, end..<bytes.count))
    }

    mutating func move(to store: borrowing ChangelogCounts) throws(StoreError) {
        let first = offset
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
            let records = records.enumerated().map { index, record in
                TopicRecord(
                    RecordPosition(partition: 0, offset: first + Int64(index), timestamp: 0),
                    key: UnsafeRawBufferPointer(rebasing: bytes[record.key]),
                    value: UnsafeRawBufferPointer(rebasing: bytes[record.value]))
            }
            _ = try store.apply(records, now: 0)
        }
        offset += Int64(records.count)
        records.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }
}
