import PushmillKafka
import PushmillStages
import PushmillStores

/// The restore of counts from the changelog: which partitions are read, and the rows taken but not yet applied.
struct ChangelogRestore {
    struct Reading {
        /// The partition's number within the shard.
        let partition: Int32
        /// The changelog partition, which has the number of the input partition.
        let number: Int32
        let secret: AccountSecret
        /// The last record read before: the same log still holds it, or a newer one.
        var expected: RecordPosition?
        var rows: [CountRow] = []
        /// The places of the rows' keys in `ChangelogRestore.keys`.
        var keys: [Range<Int>] = []
        var last: RecordPosition?
        /// The offset that is read next.
        var next: Int64
        var isWhole = false
        /// Everything before this offset has been read, as of the last end event.
        var end: Int64?
        /// The log is not the one that was read before, or has lost its last records: events from the former start are
        /// ignored.
        var isAnew = false
        /// The last record known of the log before; nil once its first record tells which of the two it is.
        var former: RecordPosition?
        /// The log is another one: the counts of the former one must be forgotten.
        var mustForget = false
        /// It has a record of a version that this release does not know: reading stops, and it never becomes whole.
        var isNewer = false
        /// It has been reported that an open transaction precedes the end.
        var isHeldUp = false
        var count = 0
    }

    /// How many partitions are read at once; the others wait their turn.
    private static let width = 512

    private var waiting: [Int32] = []
    var reading: [Reading] = []
    /// The last poll of the changelog returned something.
    var mayHaveMore = false
    /// The partitions to read have changed, or their starts.
    private(set) var isChanged = false
    /// The keys of rows taken and not yet applied.
    private var keys: [UInt8] = []

    var isIdle: Bool { waiting.isEmpty && reading.isEmpty }

    func contains(_ partition: Int32) -> Bool {
        waiting.contains(partition) || reading.contains { $0.partition == partition }
    }

    mutating func add(_ partition: Int32) {
        guard !contains(partition) else { return }
        waiting.append(partition)
    }

    mutating func remove(_ partition: Int32) {
        waiting.removeAll { $0 == partition }
        guard let index = reading.firstIndex(where: { $0.partition == partition }) else { return }
        reading.remove(at: index)
        isChanged = true
    }

    /// The partitions whose turn to be read has come.
    mutating func takeTurns() -> [Int32] {
        let count = min(waiting.count, Self.width - reading.count)
        guard count > 0 else { return [] }
        defer { waiting.removeFirst(count) }
        return Array(waiting[..<count])
    }

    /// `secret` is that of the partition's counts.
    mutating func begin(_ partition: Int32, number: Int32, _ secret: AccountSecret, from last: RecordPosition?) {
        reading.append(
            Reading(
                partition: partition, number: number, secret: secret, expected: last, last: last,
                next: last?.offset ?? Position.beginning))
        isChanged = true
    }

    /// The partitions to read, and where to start.
    mutating func takeStarts() -> [RecordPosition] {
        isChanged = false
        for index in reading.indices { reading[index].isAnew = false }
        return reading.filter { !$0.isNewer }.map { RecordPosition(partition: $0.number, offset: $0.next) }
    }

    /// The log is not the one that was read before, or has lost its last records. Without a timestamp it counts as
    /// another one.
    private mutating func beginAnew(_ index: Int) -> ShardNews {
        let former = reading[index]
        let isTold = former.last.map { $0.timestamp >= 0 } ?? false
        reading[index] = Reading(
            partition: former.partition, number: former.number, secret: former.secret, next: Position.beginning,
            isAnew: true, former: isTold ? former.last : nil, mustForget: !isTold)
        isChanged = true
        return .changelogAnew(partition: former.number)
    }

    /// Partitions that are read from their logs' beginning since the last `takeStarts`.
    var anew: [Int32] { reading.filter(\.isAnew).map(\.partition) }

    /// Partitions that have another log than before: their counts must be forgotten before new rows are applied.
    mutating func takeForgotten() -> [Int32] {
        let forgotten = reading.filter(\.mustForget).map(\.partition)
        for index in reading.indices { reading[index].mustForget = false }
        return forgotten
    }

    /// Returns news to report, if there is any.
    mutating func take(_ event: ChangelogEvent) -> ShardNews? {
        switch event {
        case .record(let number, let offset, let timestamp, let key, let value):
            return take(
                RecordPosition(partition: number, offset: offset, timestamp: timestamp), key: key, value: value)
        case .end(let number, let offset, let isWhole):
            guard let index = index(ofNumber: number) else { return nil }
            if let expected = reading[index].expected, offset <= expected.offset {
                return beginAnew(index)
            }
            if reading[index].former.take() != nil { reading[index].mustForget = true }
            if reading[index].expected == nil { reading[index].next = offset }
            (reading[index].isWhole, reading[index].end) = (isWhole, offset)
            guard !isWhole, !reading[index].isHeldUp else { return nil }
            reading[index].isHeldUp = true
            return .changelogHeldUp(partition: number, offset: offset)
        case .outOfLog(let number):
            return index(ofNumber: number).map { beginAnew($0) }
        case .failed: return nil
        }
    }

    private mutating func take(
        _ position: RecordPosition, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?
    ) -> ShardNews? {
        guard let index = index(ofNumber: position.partition) else { return nil }
        if PlantedFault.isPlanted(.countRestoredBeforeEnd), reading[index].count > 0 {
            reading[index].isWhole = true
            return nil
        }
        if let expected = reading[index].expected.take() {
            // Compaction may leave a later record in its place, and the time is -1 if a broker stamps the records.
            if position.offset == expected.offset, position.timestamp >= 0, expected.timestamp >= 0,
                position.timestamp != expected.timestamp
            {
                return beginAnew(index)
            }
        }
        // What a cut log still has is not later than what was known of it; each record of a recreated one is.
        if let former = reading[index].former.take(), !(0...former.timestamp).contains(position.timestamp) {
            reading[index].mustForget = true
        }
        var problem: ShardNews?
        do throws(ChangelogRecord.Malformed) {
            _ = try ChangelogRecord.account(key)
            let state = try ChangelogRecord.state(value)
            if let key {
                let start = keys.count
                keys.append(contentsOf: key)
                reading[index].keys.append(start..<keys.count)
                reading[index].rows.append(CountRow(reading[index].secret.hash(key), state))
            }
        } catch .version(let version) {
            reading[index].isNewer = true
            return .changelogNewer(position, reason: ChangelogRecord.Malformed.version(version).reason)
        } catch {
            problem = .changelogNotARecord(position, reason: error.reason)
        }
        reading[index].last = position
        reading[index].next = position.offset &+ 1
        reading[index].count += 1
        return problem
    }

    /// nil if the partition is not read, or if its events are ignored.
    func index(ofNumber number: Int32) -> Int? {
        reading.firstIndex { $0.number == number && !$0.isAnew && !$0.isNewer }
    }

    func key(of row: Int, in reading: Reading) -> [UInt8] { Array(keys[reading.keys[row]]) }

    mutating func applied() {
        keys.removeAll(keepingCapacity: true)
        for index in reading.indices {
            reading[index].rows.removeAll(keepingCapacity: true)
            reading[index].keys.removeAll(keepingCapacity: true)
        }
    }
}
