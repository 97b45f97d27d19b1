import PushmillKafka
import PushmillStages
import PushmillStores
import PushmillTestSupport

@testable import PushmillEngine

/// A simulated topic of contacts, its reader, and the time.
final class SimulatedContactTopic: ContactPorts {
    struct Failure: Error {
        let what: String
    }

    let name = "contacts"
    var random: SeededGenerator
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    /// How far the machine's clock is off, in milliseconds.
    var clockError: Int64 = 0
    var logs: [SimulatedContactLog]
    var leaderless: Set<Int32> = []
    /// How long a poll waits if there is nothing to read.
    var patience = Duration.milliseconds(100)
    /// Percent of the calls that fail.
    var failing = 0
    /// Called within some polls, before the records are handed over.
    var interruption: (() -> Void)?
    /// Where partitions were read to the ends of their logs, since the last look at this.
    var ended: [Int32: Int64] = [:]

    private var positions: [Int32: Int64] = [:]
    private var told: [Int32: Int64] = [:]
    private var outOfLog: Set<Int32> = []

    init(_ random: SeededGenerator, partitions: Int) {
        self.random = random
        logs = Array(repeating: SimulatedContactLog(), count: partitions)
    }

    /// Milliseconds since 1970, by the brokers' clocks.
    var time: Int64 { 1_700_000_000_000 + Int64(now.nanoseconds / 1_000_000) }
    var wallClock: Int64 { time + clockError }

    func pass(_ duration: Duration) { now = now + duration }

    /// The reader is gone with its process.
    func close() { (positions, told, outOfLog) = ([:], [:], []) }

    private func fail(_ what: String) throws {
        pass(.milliseconds(Int.random(in: 1...20, using: &random)))
        if random.chance(failing) { throw Failure(what: what) }
    }

    func partitionCount(of topic: String) throws -> Int {
        try fail("no partition count")
        return logs.count
    }

    func ranges(of partitions: Set<TopicPartition>) -> [TopicPartition: Range<Int64>] {
        pass(.milliseconds(Int.random(in: 1...20, using: &random)))
        var ranges: [TopicPartition: Range<Int64>] = [:]
        for partition in partitions.sorted(by: { $0.partition < $1.partition }) {
            guard partition.partition < logs.count, !leaderless.contains(partition.partition), !random.chance(failing)
            else { continue }
            ranges[partition] = 0..<logs[Int(partition.partition)].stableEnd
        }
        return ranges
    }

    func look(at asked: [Position], _ answer: (Position, Int64?) -> Void) throws {
        try read(from: [])
        try fail("no look")
        for position in asked.sorted(by: { $0.partition.partition < $1.partition.partition }) {
            let number = position.partition.partition
            guard number < logs.count, !leaderless.contains(number), !random.chance(failing) else { continue }
            let found = logs[Int(number)].stable.first { $0.offset >= position.offset }
            answer(position, found?.offset == position.offset ? found?.timestamp : nil)
        }
    }

    func read(from wanted: [Position]) throws {
        close()
        try fail("no assignment")
        for position in wanted { positions[position.partition.partition] = max(0, position.offset) }
    }

    func poll(limit: Int, _ body: (ContactBatch) throws -> Void) throws {
        pass(.milliseconds(1))
        var batch = ContactBatch()
        var records: [SimulatedRecord] = []
        defer { for record in records { record.free() } }
        if random.chance(failing) { batch.failure = Failure(what: "no topic") }
        for number in positions.keys.sorted().shuffled(using: &random) where random.chance(80) {
            guard number < logs.count, !leaderless.contains(number) else { continue }
            if random.chance(failing) {
                batch.failed.append((number, Failure(what: "no fetch")))
            } else {
                fetch(number, &batch, &records)
            }
        }
        if batch.records.isEmpty, batch.ends.isEmpty { pass(patience) }
        interruption?()
        interruption = nil
        try body(batch)
    }

    private func fetch(_ number: Int32, _ batch: inout ContactBatch, _ records: inout [SimulatedRecord]) {
        let log = logs[Int(number)]
        guard let position = positions[number], position <= log.end, !outOfLog.contains(number) else {
            (positions[number], outOfLog) = (nil, outOfLog.subtracting([number]))
            return batch.outOfLog.append(number)
        }
        let most = random.pick([1, 2, 5, 100])
        let left = log.stable.filter { $0.offset >= position && !$0.isOpen }
        for entry in left.prefix(most) {
            let record = SimulatedRecord(entry)
            records.append(record)
            let place = RecordPosition(partition: number, offset: entry.offset, timestamp: entry.timestamp)
            batch.records.append((place, record.key, record.value))
            positions[number] = entry.offset + 1
        }
        guard left.count <= most, random.chance(80) else { return }
        let next = max(positions[number] ?? 0, log.stableEnd)
        positions[number] = next
        guard told[number] != next else { return }
        told[number] = next
        batch.ends.append((number, next, next >= log.end))
        if next >= log.end { ended[number] = next }
    }

    /// The partition's leader has lost everything from this offset on.
    func cut(_ number: Int32, at offset: Int64) {
        logs[Int(number)].cut(at: offset)
        // The client notices if it asks the new leader about its epoch.
        if let position = positions[number], position > offset, random.once(in: 2) { outOfLog.insert(number) }
    }
}

/// The bytes of a record, which the caller frees.
private struct SimulatedRecord {
    let key: UnsafeRawBufferPointer?
    let value: UnsafeRawBufferPointer?

    init(_ entry: SimulatedContactLog.Entry) {
        guard let contact = entry.contact else {
            (key, value) = (Self.hold("{}"), Self.hold("no contact"))
            return
        }
        key = Self.hold(contact == 0 ? #"{"id":"c"}"# : #"{"owner":"\#(contact)","id":"c"}"#)
        value = entry.isDeletion ? nil : Self.hold(#"{"name":"\#(entry.write)"}"#)
    }

    private static func hold(_ text: String) -> UnsafeRawBufferPointer {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
        bytes.copyBytes(from: text.utf8)
        return UnsafeRawBufferPointer(bytes)
    }

    func free() {
        key?.deallocate()
        value?.deallocate()
    }
}
