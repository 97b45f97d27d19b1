import PushmillKafka
import PushmillStages
import PushmillStores

@testable import PushmillEngine

/// Ports of a shard that a test drives step by step. Only what the test puts here arrives, time moves only if the test
/// sets it, and everything that the shard asks for is recorded.
final class ScriptedPorts: ShardPorts {
    struct Message: LentMessage {
        var topic: UInt32 = 0
        var partition: Int32 = 0
        var offset: Int64
        var timestamp: Int64 = 1_000
        var byteCount = 100
        var headerByteCount = 0
        var recipient = "anna"
    }

    struct Output: Sendable, Equatable {
        let partition: Int32
        let offset: Int64
        var isLetter = false
    }

    /// What the shard has asked for, in order.
    enum Call: Equatable {
        case acceptAssignment
        case read([Position])
        case stop(TopicPartition)
        case giveBack([TopicPartition])
        case seek(Position)
        case askCommitted([TopicPartition])
        case askRange(TopicPartition)
        case askRecord(Position)
        case commit([Position], number: UInt32)
        case leave
        case begin(offset: Int64, count: Int32?, isCounted: Bool)
        case wakeUp(entry: Int)
        case abandon(entry: Int)
        case publish(Output)
        case publishChange(key: String, value: String, timestamp: Int64)
        case refuseCurrent(reason: String, isCounted: Bool = true)
        case askLetter(Position, reason: String, isNameOnly: Bool, isCounted: Bool = true)
        case purge(all: Bool)
        case replaceProducer
        case flush
        case transact(TransactionStep)
        case replicate([RecordPosition])
        case forget([TopicPartition])
        case tell(ShardNews)
    }

    var now = Instant.past + .seconds(1000)
    var wallClock: Int64 = 1_700_000_000_000
    private(set) var calls: [Call] = []
    /// How long each message waited for its turn: nanoseconds by offset.
    private(set) var waited: [Int64: UInt64] = [:]
    /// The offsets of messages that left, or began, as if their deadline had passed.
    private(set) var late: [Int64] = []

    // What the shard will get.
    var events: [ConsumerEvent] = []
    var messages: [Message] = []
    var reports: [OutputReport<Output>] = []
    var stageResults: [Int] = []
    var letters: [(tag: UInt64, output: Output)] = []
    var replica: [(event: ChangelogEvent, key: [UInt8], value: [UInt8])] = []
    var terminations = 0

    // How calls are answered.
    var chain: (_ message: Message, _ now: Instant) -> ChainStep = { _, _ in .ended(.output) }
    /// The result of a stage that has ended, or was abandoned.
    var stageResult = ChainStep.ended(.output)
    var publishing: (Output) -> PublishAnswer = { _ in .queued }
    var changePublishing = PublishAnswer.queued
    var transaction: (TransactionStep) -> TransactionResult = { _ in .done }
    var seeks = true
    var isPrepared = true
    var replaces = true
    var hasProducerFailed = false
    var isJoining = false
    var hasLeft = false
    /// The disk of each partition, kept for the whole test.
    var disks: [TopicPartition: MemoryDisk] = [:]

    // What the shard has done.
    private(set) var sent: [(tag: UInt64, output: Output)] = []
    private(set) var sentChanges: [(tag: UInt64, key: String, value: String)] = []
    private(set) var released: [Int64] = []
    private(set) var owned: [Int64] = []
    private(set) var askedLetters: [UInt64] = []
    private(set) var prepared: [Int64] = []
    private(set) var preparedNear: [Int64] = []
    private var current: Output?
    var bytesOfSuspended = 0
    private var suspended: [Int: Output] = [:]
    /// The entries that wait for a stage, the earliest first.
    private(set) var suspendedEntries: [Int] = []

    func takeCalls() -> [Call] {
        defer { calls = [] }
        return calls
    }

    func takeSent() -> [(tag: UInt64, output: Output)] {
        defer { sent = [] }
        return sent
    }

    func takeSentChanges() -> [(tag: UInt64, key: String, value: String)] {
        defer { sentChanges = [] }
        return sentChanges
    }

    // MARK: The group

    func wait(until time: Instant, records: Bool) {}

    func takeEvents() -> [ConsumerEvent] {
        defer { events = [] }
        return events
    }

    func acceptAssignment() { calls.append(.acceptAssignment) }
    func read(_ positions: [Position]) { calls.append(.read(positions)) }
    func stop(_ partition: TopicPartition) { calls.append(.stop(partition)) }
    func giveBack(_ partitions: [TopicPartition]) { calls.append(.giveBack(partitions)) }

    func seek(to position: Position) -> Bool {
        calls.append(.seek(position))
        return seeks
    }

    func askCommitted(_ partitions: [TopicPartition]) { calls.append(.askCommitted(partitions)) }
    func askRange(_ partition: TopicPartition) { calls.append(.askRange(partition)) }
    func askRecord(_ position: Position) { calls.append(.askRecord(position)) }
    func commit(_ positions: [Position], number: UInt32) { calls.append(.commit(positions, number: number)) }
    func leave() { calls.append(.leave) }
    func forget(_ partitions: [TopicPartition]) { calls.append(.forget(partitions)) }
    func prepare(_ partition: TopicPartition) -> Bool { isPrepared }
    func number(ofTopic topic: String) -> UInt32 { topic == "events" ? 0 : 1 }

    func takeTerminations() -> Int {
        defer { terminations = 0 }
        return terminations
    }

    func tell(_ news: ShardNews) { calls.append(.tell(news)) }

    // MARK: Messages

    func nextMessage() -> Message? { messages.isEmpty ? nil : messages.removeFirst() }
    func release(_ message: Message) { released.append(message.offset) }
    func orderHash(_ message: Message) -> UInt64? {
        message.recipient.isEmpty ? nil : UInt64(truncatingIfNeeded: message.recipient.hashValue)
    }

    func own(_ message: Message) -> Message {
        owned.append(message.offset)
        return message
    }
    func prepare(_ message: Message, isNear: Bool) {
        if isNear { preparedNear.append(message.offset) } else { prepared.append(message.offset) }
    }

    func withAccount<Result>(of message: Message, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        Self.key(of: message.recipient).withUnsafeBytes { body($0) }
    }

    static func key(of recipient: String) -> [UInt8] {
        var key: [UInt8] = []
        Array(recipient.utf8).withUnsafeBytes {
            ChangelogRecord.encodeKey($0, UnsafeRawBufferPointer(start: nil, count: 0), into: &key)
        }
        return key
    }

    func begin(_ turns: [MessageTurn<Message>], now: Instant) {}

    /// The message runs only now: that shows whether one of the group had to come before it.
    func takeStep(_ index: Int, of message: MessageTurn<Message>, now: Instant) -> ChainStep {
        begin(
            message.message, entry: Int(message.entry), taken: message.taken, now: now, count: message.count,
            isCounted: message.isCounted)
    }

    private func begin(
        _ message: Message, entry: Int, taken: Instant?, now: Instant, count: Int32?, isCounted: Bool
    ) -> ChainStep {
        calls.append(.begin(offset: message.offset, count: count, isCounted: isCounted))
        if let taken { waited[message.offset] = now.nanoseconds(since: taken) } else { late.append(message.offset) }
        let output = Output(partition: message.partition, offset: message.offset)
        let step = chain(message, now)
        switch step {
        case .ended: setCurrent(output, step)
        case .suspended:
            suspended[entry] = output
            suspendedEntries.append(entry)
        }
        return step
    }

    private func setCurrent(_ output: Output, _ step: ChainStep) {
        current = output
        if case .ended(.deadLetters, _) = step { current?.isLetter = true }
    }

    func takeStageResults(into entries: inout [Int]) {
        entries += stageResults
        stageResults = []
    }

    func resume(entry: Int, now: Instant) -> ChainStep? { end(entry) }

    func wakeUp(entry: Int, now: Instant, isLate: Bool) -> ChainStep {
        calls.append(.wakeUp(entry: entry))
        if isLate, let output = suspended[entry] { late.append(output.offset) }
        return end(entry) ?? .suspended(until: .never)
    }

    private func end(_ entry: Int) -> ChainStep? {
        guard let output = suspended.removeValue(forKey: entry) else { return nil }
        suspendedEntries.removeAll { $0 == entry }
        setCurrent(output, stageResult)
        return stageResult
    }

    func byteCount(ofSuspended entry: Int) -> Int { bytesOfSuspended }

    func abandon(entry: Int) {
        calls.append(.abandon(entry: entry))
        suspended[entry] = nil
        suspendedEntries.removeAll { $0 == entry }
    }

    // MARK: Outputs

    func publish(tag: UInt64) -> PublishAnswer {
        guard let current else { return .later }
        return publish(current, tag: tag)
    }

    func holdCurrent() -> Output { current ?? Output(partition: -1, offset: -1) }

    func publish(_ output: Output, tag: UInt64) -> PublishAnswer {
        calls.append(.publish(output))
        let step = publishing(output)
        if step == .queued { sent.append((tag, output)) }
        return step
    }

    func publishChange(
        partition: Int32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?, timestamp: Int64, tag: UInt64
    ) -> PublishAnswer {
        // The key is the recipient, after its length.
        let name = String(decoding: key.dropFirst(4), as: UTF8.self)
        let text = value.map { String(decoding: $0, as: UTF8.self) } ?? ""
        calls.append(.publishChange(key: name, value: text, timestamp: timestamp))
        if changePublishing == .queued { sentChanges.append((tag, name, text)) }
        return changePublishing
    }

    func refuseCurrent(reason: String, isCounted: Bool) {
        calls.append(.refuseCurrent(reason: reason, isCounted: isCounted))
        current?.isLetter = true
    }

    func ask(for letter: LetterRequest) {
        calls.append(
            .askLetter(
                letter.source, reason: letter.reason, isNameOnly: letter.isNameOnly, isCounted: letter.isCounted))
        askedLetters.append(letter.tag)
    }

    func takeLetters() -> [(tag: UInt64, output: Output)] {
        defer { letters = [] }
        return letters
    }

    func takeReports(into reports: inout [OutputReport<Output>]) {
        reports += self.reports
        self.reports = []
    }

    func purge(all: Bool) { calls.append(.purge(all: all)) }

    func replaceProducer() -> Bool {
        calls.append(.replaceProducer)
        if replaces { hasProducerFailed = false }
        return replaces
    }

    func flush() { calls.append(.flush) }

    func transact(_ step: TransactionStep) -> TransactionResult {
        calls.append(.transact(step))
        return transaction(step)
    }

    // MARK: Counts

    func replicate(_ starts: [RecordPosition]) { calls.append(.replicate(starts)) }

    func takeReplica(limit: Int, _ body: (ChangelogEvent) -> Void) {
        for (event, key, value) in replica.prefix(limit) {
            guard case .record(let partition, let offset, let timestamp, _, _) = event else {
                body(event)
                continue
            }
            key.withUnsafeBytes { key in
                value.withUnsafeBytes { value in
                    body(
                        .record(
                            partition: partition, offset: offset, timestamp: timestamp, key: key,
                            value: value.isEmpty ? nil : value))
                }
            }
        }
        replica.removeFirst(min(limit, replica.count))
    }

    func openDisk(_ partition: TopicPartition) -> MemoryDisk {
        let disk = disks[partition] ?? MemoryDisk()
        disks[partition] = disk
        return disk
    }
}
