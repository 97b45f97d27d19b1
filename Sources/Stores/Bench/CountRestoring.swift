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
            var batch = ChangelogBatch()
            for record in 0..<count {
                Self.add(record, of: count, to: &batch)
                guard batch.count == ChangelogBatch.usualSize || record == count - 1 else { continue }
                try store.apply(batch, now: 0)
                batch.removeAll()
            }
        }
        self.count = count
        seconds = (clock.now - begin) / .seconds(1)
        var status = stat()
        stat(path, &status)
        megabytes = Double(status.st_size) / 1e6
    }

    /// Records come in the order of a log, which is none of their keys.
    private static func add(_ record: Int, of count: Int, to batch: inout ChangelogBatch) {
        let recipient = Array("0f8fad5b-d9cb-469f-a165-\(100_000_000_000 + record &* 7_919_317 % count)".utf8)
        let app = Array("com.example.messenger".utf8)
        var (key, value): ([UInt8], [UInt8]) = ([], [])
        ChangelogRecord.appendKey(recipient.span.bytes, app.span.bytes, to: &key)
        _ = ChangelogRecord.appendValue(Int32(truncatingIfNeeded: record % 100 + 1), to: &value)
        key.withUnsafeBytes { key in
            value.withUnsafeBytes { value in
                let position = RecordPosition(partition: 0, offset: Int64(record), timestamp: 0)
                _ = batch.add(TopicRecord(position, key: key, value: value))
            }
        }
    }
}
