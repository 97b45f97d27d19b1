import PushmillKafka
import PushmillStages
import PushmillStores
import PushmillTestSupport

@testable import PushmillEngine
@testable import PushmillTelemetry

/// A follower of a simulated topic of contacts, with everything that may happen to both. All of it follows from the
/// seed, except for the order of sets, which SWIFT_DETERMINISTIC_HASHING=1 repeats too.
final class ContactRun {
    /// What breaks a promise.
    private(set) var findings: [String] = []
    private(set) var history: [String] = []
    private let hasHistory: Bool
    private(set) var turns = 0

    let topic: SimulatedContactTopic
    let isCoPartitioned: Bool
    var random: SeededGenerator
    /// More is read than can be read again to compare the logs. Then only the first record before that is compared, so
    /// that such a log is not cut.
    var isLong = false
    private let folder: TemporaryFolder
    /// For looking at the store, and for making it fail.
    private let database: Database
    private let rows: Statement
    private let served: Statement
    /// Changes with each commit of the follower.
    private let version: Statement
    private let rereading: Statement
    private var (lastVersion, lastFound): (Int64, [Int32: [Int: Int]]) = (-1, [:])

    /// What was shown, by partition; in -1 if the topic is not co-partitioned.
    var shown: [Int32: ShownContacts] = [:]
    private(set) var wanted: Set<Int32> = []
    /// Of the writes so far.
    private var writes = 0
    /// Which partition has which contacts.
    private var shift: Int32 = 0

    private var follower: ContactFollower
    private var reading: ContactReading
    private var contacts: TopicContacts?
    private var isConnected = false
    private var ready: Set<Int32> = []
    /// Logs that were cut or created again since the process began.
    private var changed: Set<Int32> = []
    private let log = Log(level: .warning)

    private var path: String { "\(folder.path)/state.sqlite" }
    private var count: Int32 { Int32(topic.logs.count) }

    init(seed: UInt64, withHistory: Bool, partitions: Int? = nil, isCoPartitioned: Bool? = nil) throws {
        hasHistory = withHistory
        random = SeededGenerator(seed: seed)
        let isRandom = random.once(in: 2)
        self.isCoPartitioned = isCoPartitioned ?? isRandom
        let count = random.pick([1, 1, 2, 3])
        topic = SimulatedContactTopic(SeededGenerator(seed: ~seed), partitions: partitions ?? count)
        folder = try TemporaryFolder(inMemory: true)
        let state = try StateFile(path: "\(folder.path)/state.sqlite", access: .shared)
        database = try state.connect()
        rows = try database.prepare("SELECT partition, owner, name FROM contact WHERE partition IN contact_served")
        served = try database.prepare("SELECT partition FROM contact_served WHERE partition>=0")
        version = try database.prepare("PRAGMA data_version")
        rereading = try database.prepare("SELECT 1 FROM contact_reread WHERE partition=?")
        follower = ContactFollower(topic: topic.name, isCoPartitioned: self.isCoPartitioned)
        reading = ContactReading(ClientProperties(), of: "cluster", state, follower, log)
    }

    func note(_ line: @autoclosure () -> String) {
        if hasHistory { history.append("\(topic.time % 1_000_000_000): \(line())") }
    }

    private func find(_ what: String) {
        note("FOUND: \(what)")
        findings.append(what)
    }

    // MARK: the process

    /// The process ends at once, and another one begins.
    func restart() throws {
        note("restart")
        contacts = nil
        topic.close()
        (isConnected, ready, changed, topic.ended) = (false, [], [], [:])
        let state = try StateFile(path: path, access: .shared)
        follower = ContactFollower(topic: topic.name, isCoPartitioned: isCoPartitioned)
        reading = ContactReading(ClientProperties(), of: "cluster", state, follower, log)
        for partition in wanted { _ = isReady(partition) }
    }

    private func isReady(_ partition: Int32) -> Bool { follower.isReady(TopicPartition("in", partition), for: 0) }

    func want(_ partitions: Set<Int32>) {
        guard isCoPartitioned, partitions != wanted else { return }
        note("want \(partitions.sorted())")
        follower.forget(wanted.subtracting(partitions).map { TopicPartition("in", $0) }, for: 0)
        wanted = partitions
        for partition in partitions { _ = isReady(partition) }
    }

    /// The process ends in the next poll.
    func endInPoll() { topic.interruption = { [follower] in follower.end() } }

    func turn() throws {
        turns += 1
        if reading.hasEnded(until: .past) { try restart() }
        for partition in topic.ended.keys where isCoPartitioned && !wanted.contains(partition) {
            topic.ended[partition] = nil
        }
        guard isConnected || !reading.isIdle else { return topic.pass(topic.patience) }
        let ended = topic.ended
        do {
            var current = try contacts.take() ?? reading.begin()
            try reading.readOn(topic, &current)
            isConnected = !reading.isIdle
            if isConnected { contacts = consume current } else { topic.close() }
            try checkServed()
        } catch {
            note("failure: \(error)")
            reading.tell(error)
            topic.close()
            // Perhaps the follower has not come to the last ones.
            topic.ended.merge(ended) { $1 }
            isConnected = false
            topic.pass(.seconds(1))
        }
        try observe()
    }

    // MARK: what must hold

    /// The contacts that can be found, by place.
    private func found() throws -> [Int32: [Int: Int]] {
        while try version.step() {
            if version.integer(0) == lastVersion {
                version.reset()
                return lastFound
            }
            lastVersion = version.integer(0)
        }
        var found: [Int32: [Int: Int]] = [:]
        while try rows.step() {
            let (owner, name) = (rows.text(1), rows.text(2))
            found[Int32(rows.integer(0)), default: [:]][owner == "*" ? 0 : Int(owner) ?? -1] = Int(name)
        }
        lastFound = found
        return found
    }

    private func checkServed() throws {
        while try served.step() {
            let partition = Int32(served.integer(0))
            if !wanted.contains(partition) { find("partition \(partition) is served but not wanted") }
        }
    }

    private func observe() throws {
        let found = try found()
        var places: Set<Int32> = []
        if isCoPartitioned {
            places = wanted.filter { isReady($0) }
        } else if follower.isRestored {
            places = [-1]
        }
        for place in places.sorted() {
            let contacts = found[place] ?? [:]
            for contact in everyContact {
                if let wrong = shown[place, default: ShownContacts()].show(contact, contacts[contact]) {
                    find("in \(place): \(wrong)")
                }
            }
            if !ready.contains(place) { checkRead(place, contacts) }
        }
        ready = places
    }

    /// A place that has just become ready shows what its logs had at their ends.
    private func checkRead(_ place: Int32, _ contacts: [Int: Int]) {
        note("ready: \(place)")
        for partition in place < 0 ? Array(0..<count) : [place] where partition < count {
            guard !changed.contains(partition) else { continue }
            guard let end = topic.ended[partition] else {
                find("partition \(partition) is served and was not read to its end")
                continue
            }
            var last: [Int: SimulatedContactLog.Entry] = [:]
            let log = topic.logs[Int(partition)]
            for entry in log.stable where entry.offset < end {
                if let contact = entry.contact { last[contact] = entry }
            }
            for (contact, entry) in last {
                let isRight =
                    if let write = contacts[contact] {
                        write >= entry.write
                    } else {
                        log.stable.contains { $0.contact == contact && $0.isDeletion && $0.offset >= entry.offset }
                    }
                if !isRight {
                    let shown = contacts[contact] ?? 0
                    find("contact \(contact) is \(shown) in \(place), which was read to \(entry.write)")
                }
            }
        }
    }

    private var everyContact: [Int] { [0] + (0..<4).flatMap { base in (1...4).map { base * 10 + $0 } } }

    /// Without faults, the store has within minutes what the logs say.
    func settle() throws {
        try mendDisk()
        note("settle")
        topic.interruption = nil
        let returning = topic.leaderless.subtracting(changed)
        (topic.failing, topic.leaderless, topic.patience) = (0, [], .seconds(2))
        for partition in 0..<count { endTransaction(partition, commits: random.once(in: 2)) }
        want(wanted.filter { $0 < count }.union([0]))
        try go(on: .seconds(30))
        let late = returning.intersection(wanted).subtracting(changed).filter { !isReady($0) }
        if isCoPartitioned, !late.isEmpty { find("partitions \(late) have leaders again and are not served") }
        try go(on: .seconds(130))
        var lines = 0
        _ = log.ring.read(from: &lines)
        try go(on: .seconds(130))
        guard findings.isEmpty else { return }
        if let line = log.ring.read(from: &lines).lines.first { find("there is no peace: \(line.message)") }
        guard follower.isRestored else { return find("not everything is served") }
        let found = try found()
        for place in isCoPartitioned ? wanted.sorted() : [-1] {
            var expected: [Int: Int] = [:]
            for log in place < 0 ? topic.logs : [topic.logs[Int(place)]] {
                for (contact, entry) in log.contacts where !entry.isDeletion { expected[contact] = entry.write }
            }
            if found[place] ?? [:] != expected {
                find("in \(place): \(found[place] ?? [:]) is found, not \(expected)")
            }
        }
    }

    private func go(on duration: Duration) throws {
        let (first, end) = (turns, topic.now + duration)
        while topic.now < end, findings.isEmpty {
            guard turns < first + 1_000 else { return find("no progress") }
            try turn()
        }
    }

    // MARK: the topic and its writers

    func write(_ partition: Int32, count: Int, inTransaction: Bool = false) {
        for _ in 0..<count {
            let isShared = isCoPartitioned && random.once(in: 6)
            let contact = isShared ? 0 : Int((partition + shift) % 4) * 10 + Int.random(in: 1...4, using: &random)
            let isContact = !random.once(in: 12)
            let isDeletion = random.once(in: 3)
            write(isContact ? contact : nil, isDeletion: isDeletion, partition, inTransaction: inTransaction)
        }
    }

    /// Deletes a contact that is there.
    func delete(_ partition: Int32) {
        let present = topic.logs[Int(partition)].contacts.filter { !$0.value.isDeletion }.keys.sorted()
        if let contact = present.randomElement(using: &random) { write(contact, isDeletion: true, partition) }
    }

    private func write(_ contact: Int?, isDeletion: Bool, _ partition: Int32, inTransaction: Bool = false) {
        writes += 1
        topic.pass(.milliseconds(1))
        topic.logs[Int(partition)].append(
            contact, write: writes, isDeletion: isDeletion, at: topic.time, inTransaction: inTransaction)
        let entry = topic.logs[Int(partition)].entries[topic.logs[Int(partition)].entries.count - 1]
        note("write \(partition)/\(entry.offset): \(entry)")
        if !inTransaction { commit(entry, partition) }
    }

    private func place(of partition: Int32) -> Int32 { isCoPartitioned ? partition : -1 }

    private func commit(_ entry: SimulatedContactLog.Entry, _ partition: Int32) {
        shown[place(of: partition), default: ShownContacts()].commit(entry)
    }

    func endTransaction(_ partition: Int32, commits: Bool) {
        guard topic.logs[Int(partition)].open != nil else { return }
        note("\(commits ? "commit" : "abort") in \(partition)")
        for entry in topic.logs[Int(partition)].endTransaction(commits: commits) { commit(entry, partition) }
    }

    func cut(_ partition: Int32, at offset: Int64) throws {
        note("cut \(partition) at \(offset)")
        topic.cut(partition, at: offset)
        try beginEra(partition)
    }

    func leap(_ partition: Int32, _ count: Int64) {
        note("leap in \(partition) by \(count)")
        topic.logs[Int(partition)].leap(count)
    }

    func recreate(partitions: Int) throws {
        note("recreate with \(partitions)")
        let places = 0..<max(count, Int32(partitions))
        topic.logs = Array(repeating: SimulatedContactLog(), count: partitions)
        if !isCoPartitioned { shift = random.pick([0, 1, 2, 3]) }
        for place in places { try beginEra(place) }
    }

    func addPartition() throws {
        note("add a partition")
        topic.logs.append(SimulatedContactLog())
        try beginEra(count - 1)
    }

    private func beginEra(_ partition: Int32) throws {
        changed.insert(partition)
        let logs = !isCoPartitioned ? topic.logs : partition < count ? [topic.logs[Int(partition)]] : []
        var base: [Int: SimulatedContactLog.Entry] = [:]
        for log in logs { base.merge(log.contacts) { $1 } }
        let later = logs.flatMap { log in log.entries.filter { !$0.isOpen && $0.offset >= log.stableEnd } }
        let place = place(of: partition)
        shown[place, default: ShownContacts()].beginEra(base, later: later)
        try rereading.bind(1, Int64(place))
        if try rereading.step() { shown[place, default: ShownContacts()].mix() }
        rereading.reset()
    }

    // MARK: the disk

    /// From now on, changes of one kind fail, as on a full disk, which some changes still fit on.
    func failDisk() throws {
        try mendDisk()
        let table = random.pick(
            ["", "_new", "_position", "_reread", "_mark", "_served", "_revision", "_position", "_reread"])
        let kind = random.pick(["INSERT", "UPDATE", "DELETE"])
        note("fail \(kind) of contact\(table)")
        try database.execute(
            "CREATE TRIGGER full BEFORE \(kind) ON contact\(table) BEGIN SELECT RAISE(ABORT, 'full'); END")
    }

    func mendDisk() throws { try database.execute("DROP TRIGGER IF EXISTS full") }
}
