import PushmillKafka
import PushmillStages
import PushmillStores

/// Counts of partitions on their way from the changelog: which are read, and what was taken of them and not yet applied.
struct ChangelogRestore {
    struct Reading {
        /// The shard's number.
        let partition: Int32
        /// The changelog's partition, which is the input's.
        let number: Int32
        let secret: AccountSecret
        /// What the log must still hold, or something newer, if it is the one that was read before.
        var expected: RecordPosition?
        var rows: [(account: AccountHash, state: CountState)] = []
        /// Where in `keys` the keys of the rows stand.
        var keys: [Range<Int>] = []
        var last: RecordPosition?
        /// The offset that is read next.
        var next: Int64
        var isWhole = false
        /// Everything before this offset was read, when it was whole.
        var end: Int64?
        /// The log is another than before: what is still coming of it by the old way says nothing.
        var isAnew = false
        /// It has a record of a version that is not known here: it is not read on, and never whole.
        var isNewer = false
        /// Told already: an open transaction stands before the end.
        var isHeldUp = false
        var count = 0
        /// Rows of it that were lower than what is known: an owner that had lost it may have written them. By account.
        var stale: [AccountHash: (key: [UInt8], timestamp: Int64)] = [:]
    }

    /// Partitions that are read at once; the others wait their turn.
    private static let width = 512

    private var waiting: [Int32] = []
    var reading: [Reading] = []
    /// The last look at the changelog has brought something.
    var mayHaveMore = false
    /// Others are to be read, or from elsewhere.
    private(set) var isChanged = false
    /// The keys of rows that were taken and not applied.
    private var keys: [UInt8] = []
    /// A buffer for the values of records that are written.
    var value: [UInt8] = []

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

    /// The secret is that of the partition's counts.
    mutating func begin(_ partition: Int32, number: Int32, _ secret: AccountSecret, from last: RecordPosition?) {
        reading.append(
            Reading(
                partition: partition, number: number, secret: secret, expected: last, last: last,
                next: last?.offset ?? Position.beginning))
        isChanged = true
    }

    /// Everything that is read by now, and from where.
    mutating func takeStarts() -> [RecordPosition] {
        isChanged = false
        for index in reading.indices { reading[index].isAnew = false }
        return reading.filter { !$0.isNewer }.map { RecordPosition(partition: $0.number, offset: $0.next) }
    }

    /// The log is another one than that which was read before.
    private mutating func beginAnew(_ index: Int) -> ShardNews {
        let former = reading[index]
        reading[index] = Reading(
            partition: former.partition, number: former.number, secret: former.secret, next: Position.beginning,
            isAnew: true)
        isChanged = true
        return .changelogAnew(partition: former.number)
    }

    /// Partitions that have turned out so since the last starts: their counts are to be forgotten.
    var anew: [Int32] { reading.filter(\.isAnew).map(\.partition) }

    /// Gives what is to be told of it.
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
            // Compaction may have put a later one in its place, and a broker that stamps records tells its own time.
            if position.offset == expected.offset, position.timestamp >= 0, expected.timestamp >= 0,
                position.timestamp != expected.timestamp
            {
                return beginAnew(index)
            }
        }
        var problem: ShardNews?
        do throws(ChangelogRecord.Malformed) {
            _ = try ChangelogRecord.account(key)
            let state = try ChangelogRecord.state(value)
            if let key {
                let start = keys.count
                keys.append(contentsOf: key)
                reading[index].keys.append(start..<keys.count)
                reading[index].rows.append((reading[index].secret.hash(key), state))
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

    /// nil for one that is not read, or of which what comes says nothing.
    func index(ofNumber number: Int32) -> Int? {
        reading.firstIndex { $0.number == number && !$0.isAnew && !$0.isNewer }
    }

    mutating func noteStale(_ row: Int, of partition: Int32, timestamp: Int64) {
        guard let index = reading.firstIndex(where: { $0.partition == partition }) else { return }
        let key = Array(keys[reading[index].keys[row]])
        reading[index].stale[reading[index].rows[row].account] = (key, timestamp)
    }

    mutating func applied() {
        keys.removeAll(keepingCapacity: true)
        for index in reading.indices {
            reading[index].rows.removeAll(keepingCapacity: true)
            reading[index].keys.removeAll(keepingCapacity: true)
        }
    }
}
