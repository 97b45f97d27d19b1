import PushmillKafka
import PushmillStages
import PushmillStores
import PushmillTelemetry

/// The follower's thread: reads each partition of a contacts topic from the store's position, or from its beginning,
/// and keeps following it. At each start and every minute it compares the logs with those that it has read before.
struct ContactReading {
    /// After a failure.
    private static let pause = Duration.seconds(1)
    private static let batchSize = 10_000
    private static let tellsEvery = Duration.seconds(5)
    private static let asksEvery = Duration.seconds(2)

    /// These partitions are not, or may not be, the logs that were read before.
    private struct TopicMadeAnew: Error {
        let partitions: Set<Int32>
    }

    private let properties: ClientProperties
    private let cluster: String
    private let state: StateFile
    private let follower: ContactFollower
    private let log: Log

    private var followed = FollowedPartitions()
    /// The partitions to read have changed, or their positions.
    private var isChanged = true
    /// The logs are to be compared with those that were read before.
    private var isLookDue = false
    /// How many partitions the topic has.
    private var count = 0
    /// Partitions whose offset range no leader has reported: they are not read, and the range is asked for again.
    private var unknown: Set<TopicPartition> = []
    /// Partitions that failed to be read since the last look: their ends may not have been reached.
    private var failed: Set<Int32> = []
    /// Partitions whose ends are behind an open transaction, as the log says.
    private var heldUp: Set<Int32> = []
    private var begun = Instant.past
    private var nextTelling = Instant.never
    private var nextLook = Instant.never
    private var nextAsking = Instant.never

    private var topic: String { follower.topic }
    /// Only partitions that shards ask for are followed.
    private var isCoPartitioned: Bool { follower.isCoPartitioned }

    init(
        _ properties: ClientProperties, of cluster: String, _ state: StateFile, _ follower: ContactFollower, _ log: Log
    ) {
        var properties = properties
        // An offset out of range must be an error: nothing may be skipped silently.
        properties["auto.offset.reset"] = "error"
        // Contacts trickle in, and the store writes a backlog more slowly than it is fetched.
        properties["queued.max.messages.kbytes"] = "8192"
        // Events wait for the end of a partition, which is known only after a fetch has waited and brought nothing.
        if follower.isCoPartitioned { properties["fetch.wait.max.ms"] = "100" }
        self.properties = properties
        self.cluster = cluster
        self.state = state
        self.follower = follower
        self.log = log
    }

    /// The thread's main loop: reads what is wanted, and retries after failures.
    mutating func serve() {
        while !hasEnded(until: isIdle ? .never : .past) {
            if isIdle { continue }
            do {
                try follow()
            } catch {
                tell(error)
                _ = hasEnded(until: TimeSource.system.now + Self.pause)
            }
        }
    }

    func tell(_ error: any Error) {
        follower.fail()
        log.error(
            "cannot read contacts from their topic, trying again", [.contacts, .topic(topic), .error(error)])
    }

    /// Returns when there is nothing to follow or the thread must end. Throws errors that may pass with another
    /// attempt.
    private mutating func follow() throws {
        let reader = try PartitionReader(properties, tellsEnds: true) { [log] level, facility, message in
            log.log(LogLevel(syslog: level), "librdkafka", [.component(facility), .contacts, .error(text: message)])
        }
        var contacts = try begin()
        while !hasEnded(until: .past) {
            try readOn(reader, &contacts)
            if isIdle { return }
        }
    }

    /// Whatever was read before is read on from where the store is.
    mutating func begin() throws(StoreError) -> TopicContacts {
        isChanged = true
        return try TopicContacts(state, topic: topic, cluster: cluster, isCoPartitioned: isCoPartitioned)
    }

    /// True if the thread must end. Otherwise takes over the wanted partitions. Waits for changes until `limit`.
    mutating func hasEnded(until limit: Instant) -> Bool {
        guard let wanted = follower.wanted(until: limit) else { return true }
        guard isCoPartitioned else { return false }
        if wanted != followed.all {
            followed.become(wanted)
            isChanged = true
        }
        tellServed()
        return false
    }

    /// There is nothing to follow.
    var isIdle: Bool { isCoPartitioned && followed.all.isEmpty }

    private func tellServed() { follower.serve(followed.served, areAll: followed.areServed) }

    /// Reads a batch into the store.
    mutating func readOn(_ ports: some ContactPorts, _ contacts: inout TopicContacts) throws {
        do {
            if isChanged || isLookDue { try start(ports, &contacts) }
            if !isIdle { try read(ports, &contacts) }
        } catch let other as TopicMadeAnew {
            try startOver(other.partitions, ports, &contacts)
        }
    }

    private mutating func startOver(
        _ numbers: Set<Int32>, _ ports: some ContactPorts, _ contacts: inout TopicContacts
    ) throws(StoreError) {
        let partitions = numbers.map { TopicPartition(topic, $0) }
        log.warning(
            "the contacts topic was recreated or truncated: reading these partitions again",
            [.contacts, .topic(topic), .partitions(partitions.summary)])
        try contacts.startOver(numbers, now: ports.wallClock)
        _ = followed.forget(numbers)
        isChanged = true
    }

    private mutating func start(_ ports: some ContactPorts, _ contacts: inout TopicContacts) throws {
        try contacts.serve(only: followed.served)
        guard !isIdle else { return }
        count = try ports.partitionCount(of: topic)
        if !isCoPartitioned { followed.become(Set(0..<Int32(clamping: count))) }
        try discardStale(ports, &contacts)
        let marks = try contacts.marks()
        var positions: [Position] = []
        var total: Int64 = 0
        var comparisons: [Int32: LogComparison] = [:]
        let partitions = followed.all.filter { $0 < count }.sorted().map { TopicPartition(topic, $0) }
        let ranges = ports.ranges(of: Set(partitions))
        guard partitions.isEmpty || !ranges.isEmpty else {
            throw KafkaError("the brokers return no offsets of the topic")
        }
        unknown = Set(partitions).subtracting(ranges.keys)
        for partition in partitions {
            guard let range = ranges[partition] else { continue }
            let number = partition.partition
            guard let comparison = LogComparison(marks[number] ?? [], in: range) else {
                total += Int64(range.count)
                positions.append(Position(partition, offset: Position.beginning))
                continue
            }
            let next = comparison.last.offset + 1
            guard !PlantedContactFault.isPlanted(.logNotCompared) else {
                positions.append(Position(partition, offset: next))
                continue
            }
            total += max(0, range.upperBound - next)
            comparisons[number] = comparison
            positions.append(Position(partition, offset: comparison.start))
        }
        try compareDistant(comparisons, ports)
        try ports.read(from: positions)
        followed.comparisons = comparisons
        isLookDue = false
        if !unknown.isEmpty {
            follower.fail()
            nextAsking = ports.now + Self.asksEvery
        }
        guard isChanged else { return }
        isChanged = false
        follower.begin(total: Int(total))
        tellServed()
        begun = ports.now
        nextTelling = begun + Self.tellsEvery
        // After a failure the first look tells whether it is over.
        let isRetry = follower.failing > .zero && unknown.isEmpty
        nextLook = begun + (isRetry ? Self.asksEvery : followed.looksEvery(ofTopic: count))
        log.info(
            "following the contacts topic",
            [.contacts, .topic(topic), .partitions(positions.map(\.partition).summary), .count(Int(total))])
        if !unknown.isEmpty {
            log.warning(
                "partitions of the contacts topic have no leader: events that need them wait",
                [.contacts, .topic(topic), .partitions(Array(unknown).summary)])
        }
        let missing = followed.missing(ofTopic: count).map { TopicPartition(topic, $0) }
        guard !missing.isEmpty else { return }
        log.error(
            "the contacts topic has fewer partitions than the input: events of the other partitions wait",
            [.contacts, .topic(topic), .partitions(missing.summary)])
    }

    /// A log that was recreated may have grown far beyond what was read of the former one.
    private func compareDistant(_ comparisons: [Int32: LogComparison], _ ports: some ContactPorts) throws {
        let marks = comparisons.compactMapValues(\.distant)
        guard !marks.isEmpty, !PlantedContactFault.isPlanted(.distantMarkNotCompared) else { return }
        var others: [Int32] = []
        try ports.look(at: marks.values.map { Position(TopicPartition(topic, $0.partition), offset: $0.offset) }) {
            let partition = $0.partition.partition
            if $1 != marks[partition]?.timestamp { others.append(partition) }
        }
        guard !others.isEmpty else { return }
        throw TopicMadeAnew(partitions: Set(others.flatMap { affected(by: $0) }))
    }

    private mutating func discardStale(
        _ ports: some ContactPorts, _ contacts: inout TopicContacts
    ) throws(StoreError) {
        let gone = try contacts.marks().keys.filter { $0 >= count }.map { TopicPartition(topic, $0) }
        if !gone.isEmpty {
            log.warning(
                "the contacts topic was recreated with fewer partitions",
                [.contacts, .topic(topic), .partitions(gone.summary)])
        }
        let stale = try contacts.discardStale(partitions: count, now: ports.wallClock)
        if followed.forget(stale) { isChanged = true }
    }

    private mutating func read(_ ports: some ContactPorts, _ contacts: inout TopicContacts) throws {
        try ports.poll(limit: Self.batchSize) { batch in
            try apply(batch.records, ports, &contacts)
            try reach(batch.ends, ports, &contacts)
            if !batch.outOfLog.isEmpty {
                throw TopicMadeAnew(partitions: Set(batch.outOfLog.flatMap { affected(by: $0) }))
            }
            if let failure = batch.failure { throw failure }
            // librdkafka retries these itself, and reads the other partitions meanwhile.
            for (_, error) in batch.failed { tell(error) }
            failed.formUnion(batch.failed.map(\.partition))
        }
        try doDueWork(ports, &contacts)
    }

    private mutating func apply(
        _ records: [TopicRecord], _ ports: some ContactPorts, _ contacts: inout TopicContacts
    ) throws {
        let records = try records.filter { record in
            try followed.all.contains(record.position.partition) && isNew(record.position, contacts)
        }
        guard !records.isEmpty else { return }
        for refused in try contacts.apply(records, now: ports.wallClock) {
            log.warning(
                "a record of the contacts topic is invalid",
                [
                    .contacts, .topic(topic), .partition(refused.position.partition), .offset(refused.position.offset),
                    .reason(refused.what),
                ])
        }
        follower.add(records.count)
    }

    /// False for a record that was read before: an earlier name must not be shown again.
    private mutating func isNew(_ position: RecordPosition, _ contacts: borrowing TopicContacts) throws -> Bool {
        guard var comparison = followed.comparisons[position.partition] else { return true }
        try conclude(comparison.compare(position), comparison, contacts)
        return position.offset > comparison.last.offset
    }

    private mutating func conclude(
        _ verdict: LogComparison.Verdict, _ comparison: LogComparison, _ contacts: borrowing TopicContacts
    ) throws {
        let partition = comparison.last.partition
        switch verdict {
        case .open: followed.comparisons[partition] = comparison
        case .same:
            followed.comparisons[partition] = nil
            try contacts.forgetMarks(before: comparison.last)
        case .different: throw TopicMadeAnew(partitions: affected(by: partition))
        }
    }

    /// The partitions to reread along with this one: all of them if the store does not keep contacts by partition.
    private func affected(by partition: Int32) -> Set<Int32> { isCoPartitioned ? [partition] : followed.all }

    private mutating func reach(
        _ ends: [(partition: Int32, offset: Int64, isWhole: Bool)], _ ports: some ContactPorts,
        _ contacts: inout TopicContacts
    ) throws {
        for end in ends {
            guard let comparison = followed.comparisons[end.partition] else { continue }
            try conclude(comparison.verdict, comparison, contacts)
        }
        let before = followed.whole
        tellHeldUp(ends.filter { !before.contains($0.partition) })
        let whole = ends.filter { $0.isWhole || PlantedContactFault.isPlanted(.openTransactionTakenForEnd) }
        let reached = Set(whole.map(\.partition)).intersection(followed.all).subtracting(before)
        guard !reached.isEmpty else { return }
        let now = ports.wallClock
        try contacts.see(reached, now: now)
        // Replacing a great many contacts takes its time.
        let goesOn = { [follower] in follower.wanted(until: .past) != nil }
        // If contacts are not kept by partition, deleted ones are known only when all partitions have been read.
        let areAllRead =
            before.union(reached) == followed.all || PlantedContactFault.isPlanted(.readyBeforeEnd)
        let read = isCoPartitioned ? reached : areAllRead ? followed.all : []
        guard try contacts.complete(read, now: now, while: goesOn) else { return }
        try contacts.serve(only: followed.served.union(read))
        followed.complete(reached, showing: read)
        tellServed()
        guard followed.areWhole else { return }
        let took = ports.now.nanoseconds(since: begun)
        log.info(
            "contacts restored",
            [.contacts, .topic(topic), .count(follower.records.read), .seconds(Double(took) / 1_000_000_000)])
    }

    private mutating func tellHeldUp(_ ends: [(partition: Int32, offset: Int64, isWhole: Bool)]) {
        for end in ends {
            if end.isWhole {
                heldUp.remove(end.partition)
            } else if followed.all.contains(end.partition), heldUp.insert(end.partition).inserted {
                log.info(
                    "waiting for the end of the contacts topic: a transaction is open",
                    [.contacts, .topic(topic), .partition(end.partition), .offset(end.offset)])
            }
        }
    }

    /// Does the periodic work that is due.
    private mutating func doDueWork(_ ports: some ContactPorts, _ contacts: inout TopicContacts) throws {
        let now = ports.now
        if !follower.isRestored, now >= nextTelling {
            nextTelling = now + Self.tellsEvery
            let (read, total) = follower.records
            log.info("reading contacts", [.contacts, .topic(topic), .count(read), .total(total)])
        }
        if !unknown.isEmpty, now >= nextAsking, !PlantedContactFault.isPlanted(.leaderlessNotAskedAgain) {
            if !ports.ranges(of: unknown).isEmpty { isChanged = true }
            nextAsking = ports.now + Self.asksEvery
        }
        guard now >= nextLook else { return }
        nextLook = now + followed.looksEvery(ofTopic: count)
        try discardStale(ports, &contacts)
        let unread = PlantedContactFault.isPlanted(.seenUnread) ? [] : failed.union(unknown.map(\.partition))
        let seen = followed.whole.subtracting(unread)
        let haveAllAnswered = failed.isEmpty && unknown.isEmpty
        failed = []
        try contacts.see(seen, now: ports.wallClock)
        if try ports.partitionCount(of: topic) != count { isChanged = true }
        // Not before: a full disk fails this look, too, and must not seem to have begun with it.
        if haveAllAnswered { follower.succeed() }
        // Reading to the end is not interrupted: a look follows it. At an open transaction nothing is read: brokers may
        // have lost it, and then no other end comes.
        let isReading = !followed.all.subtracting(unknown.map(\.partition)).subtracting(heldUp)
            .isSubset(of: followed.whole)
        guard !isReading else { return }
        isLookDue = true
    }
}

extension LogField {
    /// Log lines about contacts name the stage that looks them up.
    fileprivate static let contacts = LogField.stage(ContactStage.entry.name)
}
