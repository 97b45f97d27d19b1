import PushmillEngine
package import PushmillKafka
package import PushmillStores

/// Fetched records that were not taken yet, of all partitions, in order of arrival.
struct FetchedRecords {
    private var queue: [SimulatedMessage] = []
    private var head = 0
    /// How many records of the last batch call are not handed over yet.
    private var held = 0

    var isEmpty: Bool { head == queue.count }
    var count: Int { queue.count - head }

    mutating func append(_ message: SimulatedMessage) { queue.append(message) }

    mutating func next() -> SimulatedMessage? {
        guard head < queue.count else { return nil }
        if held == 0 { held = min(8, count) }
        held -= 1
        head += 1
        let message = queue[head - 1]
        if head == queue.count { removeAll() }
        return message
    }

    mutating func remove(topic: Int, _ partition: Int32) {
        queue.removeFirst(head)
        head = 0
        queue.removeAll { $0.topic == UInt32(topic) && $0.partition == partition }
        held = min(held, queue.count)
    }

    mutating func removeAll() {
        queue.removeAll(keepingCapacity: true)
        head = 0
        held = 0
    }

    /// Loses the records that a batch call has not handed over yet.
    mutating func loseHeld() {
        if held == 0 { held = min(8, count) }
        head += held
        held = 0
        if head == queue.count { removeAll() }
    }
}

/// What was read from the changelog and not taken yet.
enum Replicated {
    case record(PartitionLog.Entry, partition: Int32)
    case end(partition: Int32, offset: Int64, isWhole: Bool)
    case outOfLog(partition: Int32)
}

extension SimulatedPorts {
    package typealias Message = SimulatedMessage

    private static var fetchLimit: Int { 64 }

    package func read(_ positions: [Position]) {
        for position in positions {
            guard let log = cluster.log(position.partition) else { continue }
            timeline.note(number, .read, Int64(log.partition), position.offset, Int64(log.topic))
            readers.removeAll { reader in
                if reader.log === log { reader.stop() }
                return reader.log === log
            }
            let reader = LogReader(log, node: node, connection: fetching, tellsEnds: false) { [weak self] in
                self.map { $0.fetched.count < Self.fetchLimit } ?? false
            } deliver: { [weak self] reader, delivery in
                self?.take(delivery, of: reader)
            }
            readers.append(reader)
            reader.start(at: position.offset)
        }
    }

    private func take(_ delivery: LogReader.Delivery, of reader: LogReader) {
        switch delivery {
        case .end: break
        case .outOfLog: tell(.outOfLog(cluster.partitions[reader.log.topic][Int(reader.log.partition)]))
        case .records(let entries):
            var before: SimulatedMessage?
            for entry in entries {
                guard case .event(let event) = entry.content else { continue }
                let message = SimulatedMessage(
                    topic: UInt32(reader.log.topic), partition: reader.log.partition, offset: entry.offset,
                    timestamp: entry.timestamp, event: event)
                fetched.append(message)
                // Some records come twice, at once or after the next one; not if that could hide a lost record.
                if !switches.losesFetched, dice.chance(switches.twice) { fetched.append(before ?? message) }
                before = message
            }
            hasNews()
        }
    }

    package func seek(to position: Position) -> Bool {
        guard let log = cluster.log(position.partition) else { return false }
        guard let reader = readers.first(where: { $0.log === log }), !dice.chance(switches.failures) else {
            return false
        }
        timeline.note(number, .seek, Int64(log.partition), position.offset, Int64(log.topic))
        // Sometimes records that were fetched before the seek still come first.
        if !switches.losesFetched || !dice.chance(400) { fetched.remove(topic: log.topic, log.partition) }
        reader.start(at: position.offset)
        goOnReading()
        return true
    }

    /// True if the output's partition is this shard's, as far as it knows.
    func owns(_ value: OutputValue) -> Bool {
        let partition = cluster.partitions[value.topic][Int(value.partition)]
        return membership?.owned.contains(partition) ?? false
    }

    package func nextMessage() -> SimulatedMessage? {
        guard let message = fetched.next() else { return nil }
        lent += 1
        if fetched.count == Self.fetchLimit / 2 || fetched.isEmpty { for reader in readers { reader.goOn() } }
        return message
    }

    package func release(_ message: SimulatedMessage) {
        lent -= 1
        if lent < 0 { witness.broken("a message was released twice", by: self) }
    }

    package func number(ofTopic topic: String) -> UInt32 { UInt32(cluster.topics.firstIndex(of: topic) ?? 99) }

    package func prepare(_ message: SimulatedMessage, isNear: Bool) {}

    package func own(_ message: SimulatedMessage) -> SimulatedMessage { message }

    package func orderHash(_ message: SimulatedMessage) -> UInt64? {
        UInt64(UInt32(bitPattern: events[Int(message.event)].recipient)) &* 0x9e37_79b9_7f4a_7c15
    }

    package func withAccount<Result>(
        of message: SimulatedMessage, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        let event = events[Int(message.event)]
        guard event.isCounted else { return nil }
        return withUnsafeBytes(of: Self.accountName(of: event.recipient)) { body($0) }
    }

    /// The layout of the changelog's keys: the recipient's length, the recipient, the app.
    package static func accountName(of recipient: Int32) -> (UInt32, UInt32, UInt32) {
        (UInt32(4).bigEndian, UInt32(bitPattern: recipient).bigEndian, 0x7070_6161)
    }

    // MARK: The changelog

    package func replicate(_ starts: [RecordPosition]) {
        for reader in replicas { reader.stop() }
        replicas = []
        replicated = []
        for start in starts {
            let log = cluster.logs[Topics.changelog][Int(start.partition)]
            let reader = LogReader(
                log, node: node, connection: replicating, batch: 64, tellsEnds: true,
                deliver: { [weak self] reader, delivery in self?.takeReplica(delivery, of: reader) })
            replicas.append(reader)
            reader.start(at: start.offset)
        }
    }

    private func takeReplica(_ delivery: LogReader.Delivery, of reader: LogReader) {
        let partition = reader.log.partition
        switch delivery {
        case .records(let entries): for entry in entries { replicated.append(.record(entry, partition: partition)) }
        case .end(let offset, let isWhole):
            replicated.append(.end(partition: partition, offset: offset, isWhole: isWhole))
        case .outOfLog: replicated.append(.outOfLog(partition: partition))
        }
        hasNews()
    }

    package func takeReplica(limit: Int, _ body: (ChangelogEvent) -> Void) {
        let taken = Array(replicated.prefix(limit))
        replicated.removeFirst(taken.count)
        for item in taken {
            switch item {
            case .end(let partition, let offset, let isWhole):
                body(.end(partition: partition, offset: offset, isWhole: isWhole))
            case .outOfLog(let partition): body(.outOfLog(partition: partition))
            case .record(let entry, let partition):
                guard case .change(let key, let value) = entry.content else { continue }
                let (offset, timestamp) = (entry.offset, entry.timestamp)
                key.withUnsafeBytes { key in
                    (value ?? []).withUnsafeBytes { bytes in
                        body(
                            .record(
                                partition: partition, offset: offset, timestamp: timestamp, key: key,
                                value: value == nil ? nil : bytes))
                    }
                }
            }
        }
    }

    package func prepare(_ partition: TopicPartition) -> Bool { true }

    package func forget(_ partitions: [TopicPartition]) {}

    package func openDisk(_ partition: TopicPartition) -> MemoryDisk {
        MemoryDisk(openFile(partition)) { [node] in node.isAlive }
    }
}
