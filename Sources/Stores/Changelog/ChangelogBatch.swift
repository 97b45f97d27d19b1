import Glibc

/// Records of a changelog on their way to the store: the latest of each account, in memory of its own.
///
/// A log is in no order that the store has. Many records at once, in the order of their keys, touch each of its pages
/// once and not once a record.
package struct ChangelogBatch {
    /// Of so many accounts it is worth while, and some 40 MB.
    package static let usualSize = 200_000

    /// By partition and key, as bytes that sort.
    private var counts: [[UInt8]: Int32] = [:]
    /// The last record of each partition.
    private(set) var positions: [Int32: RecordPosition] = [:]

    package init() {}

    /// Accounts.
    package var count: Int { counts.count }

    package var isEmpty: Bool { positions.isEmpty }

    /// What is no count is passed over, and its reason given.
    package mutating func add(_ record: TopicRecord) -> RefusedRecord? {
        positions[record.position.partition] = record.position
        do throws(ChangelogRecord.Malformed) {
            _ = try ChangelogRecord.account(record.key)
            counts[Self.key(record)] = try ChangelogRecord.count(record.value)
            return nil
        } catch {
            return RefusedRecord(position: record.position, what: error.what)
        }
    }

    package mutating func removeAll() {
        counts.removeAll(keepingCapacity: true)
        positions.removeAll(keepingCapacity: true)
    }

    func forEach(
        _ body: (_ partition: Int32, _ recipient: RawSpan, _ app: RawSpan, _ count: Int32) throws(StoreError) -> Void
    ) throws(StoreError) {
        let sorted = counts.sorted { Self.precedes($0.key, $1.key) }
        for (key, count) in sorted {
            try key.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
                let partition = Int32(bigEndian: bytes.loadUnaligned(as: Int32.self))
                let key = UnsafeRawBufferPointer(rebasing: bytes[Self.prefix...])
                guard let account = try? ChangelogRecord.account(key) else { return }
                try body(partition, account.recipient.bytes, account.app.bytes, count)
            }
        }
    }

    private static let prefix = MemoryLayout<Int32>.size

    private static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                // Neither is empty: each begins with its partition.
                guard let first = left.baseAddress, let second = right.baseAddress else { return false }
                let order = memcmp(first, second, min(left.count, right.count))
                return order == 0 ? left.count < right.count : order < 0
            }
        }
    }

    private static func key(_ record: TopicRecord) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(prefix + (record.key?.count ?? 0))
        withUnsafeBytes(of: record.position.partition.bigEndian) { bytes.append(contentsOf: $0) }
        if let key = record.key { bytes.append(contentsOf: key) }
        return bytes
    }
}
