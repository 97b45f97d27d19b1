import PushmillKafka
import PushmillStages
import PushmillTelemetry
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("The figures of a shard")
struct ShardFiguresTests {
    private typealias Shard = ScriptedShard
    private let start = Instant.past + .seconds(100)

    @Test(
        "Figures show each partition's oldest message in flight, by its timestamp or intake", arguments: [-1, 0])
    func oldest(without timestamp: Int64) {
        let shard = Shard()
        shard.begin(0..<3)
        expect(shard.figures.partitions.map(\.lastTaken), is: [nil, nil, nil])
        shard.ports.messages = [
            ScriptedPorts.Message(partition: 0, offset: 0, timestamp: 70),
            ScriptedPorts.Message(partition: 0, offset: 1, timestamp: 60, byteCount: 11),
            ScriptedPorts.Message(partition: 1, offset: 0, timestamp: timestamp),
        ]
        shard.turn()
        shard.turn(after: .seconds(2))
        let figures = shard.figures
        #expect(figures.inFlight == 3 && figures.inFlightBytes == 211)
        expect(figures.partitions.map(\.oldest), is: [60, shard.ports.wallClock - 2_000, nil])
        expect(figures.partitions.map(\.lastTaken), is: [60, nil, nil])
        expect(figures.partitions.map(\.inFlight), is: [2, 1, 0])
        expect(figures.partitions.map(\.next), is: [2, 1, 0])
        expect(figures.partitions.map(\.isFetched), is: [true, true, true])
        #expect(figures.isInitialized && figures.canPublish && figures.hasRoom)
        // A lost partition is not shown, and what is in flight of it belongs to no partition.
        shard.ports.events = [.lost([Shard.partition(0)])]
        shard.turn()
        expect(shard.figures.partitions.map(\.oldest), is: [shard.ports.wallClock - 2_000, nil])
    }

    @Test("A message published in an open transaction is unfinished until the commit")
    func inTransaction() {
        let shard = Shard { $0.isTransactional = true }
        #expect(!shard.figures.isInitialized)
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledge()
        shard.turn()
        expect(shard.figures.inFlight, is: 0)
        expect(shard.figures.partitions.map(\.oldest), is: [1_000])
        shard.turn(after: .milliseconds(20))
        expect(shard.figures.partitions.map(\.oldest), is: [nil])
    }

    @Test("A partition is paused while nothing of it can be taken")
    func paused() {
        let shard = Shard { $0.maxInFlight = 1 }
        shard.begin()
        expect(shard.figures.partitions.map(\.isPaused), is: [false])
        shard.deliver()
        shard.turn()
        expect(shard.figures.partitions.map(\.isPaused), is: [true])
        shard.acknowledge()
        shard.ports.events = [.revoked([Shard.partition()])]
        shard.turn()
        expect(shard.figures.partitions.map(\.isPaused), is: [true])
        expect(shard.figures.partitions.map(\.isFetched), is: [false])
    }

    @Test("A partition that two shards show is kept only for the one that got it last")
    func lost() {
        let former = Shard()
        former.begin(0..<2)
        let other = Shard()
        other.turn(after: .seconds(1))
        other.begin(1..<3)
        let numbers = { (shards: [ShardFigures]) in shards.map { $0.partitions.map(\.id.partition) } }
        expect(numbers([former.figures, other.figures].withoutLost), is: [[0], [1, 2]])
        expect(numbers([other.figures, former.figures].withoutLost), is: [[1, 2], [0]])
    }

    @Test("Figures are shown at most every 200 ms, and the turn under way is timed")
    func box() {
        let box = FigureBox()
        expect(box.busy(start), is: .zero)
        box.begin(start)
        expect(box.busy(start + .milliseconds(3)), is: .milliseconds(3))
        #expect(box.end(start + .milliseconds(3)))
        expect(box.busy(start + .seconds(1)), is: .zero)
        for (time, isDue) in [(100, false), (202, false), (203, true), (204, false)] {
            box.begin(start + .milliseconds(time))
            expect(box.end(start + .milliseconds(time)), is: isDue)
        }
        expect(box.seconds, is: 0.003)
        var figures = ShardFigures()
        figures.inFlight = 7
        box.show(figures)
        expect(box.figures.inFlight, is: 7)
    }

    private func lines(of log: Log) -> [String] {
        var cursor = 0
        return log.ring.read(from: &cursor).lines.map { "\($0.message)" }
    }

    @Test("Unacknowledged outputs and a group that does not answer are logged, and so is their end")
    func unanswered() {
        expect(
            news(of: \.isAnswered, from: false),
            is: [
                "outputs are waiting: no broker acknowledges them", "outputs are acknowledged again",
            ])
        expect(
            news(of: \.isGroupLate, from: true),
            is: [
                "the group does not answer, waiting", "the group answered",
            ])
    }

    /// The log lines of a figure that goes wrong and recovers, with two looks at each.
    private func news(of figure: WritableKeyPath<ShardFigures, Bool>, from wrong: Bool) -> [String] {
        let log = Log()
        var pressure = Pressure()
        var figures = ShardFigures()
        pressure.tell(figures, start, log)
        expect(lines(of: log), is: [])
        for value in [wrong, wrong, !wrong, !wrong] {
            figures[keyPath: figure] = value
            pressure.tell(figures, start, log)
        }
        return lines(of: log)
    }

    @Test("A full shard is logged after a second without intake, and again when there is room")
    func full() {
        let log = Log()
        var pressure = Pressure()
        let shard = Shard { $0.maxInFlight = 1 }
        shard.begin()
        shard.deliver()
        shard.turn()
        let figures = shard.figures
        pressure.tell(figures, start, log)
        pressure.tell(figures, start + .milliseconds(999), log)
        expect(lines(of: log), is: [])
        for _ in 0..<2 { pressure.tell(figures, start + .seconds(1), log) }
        expect(lines(of: log), is: ["too much is in flight: intake is paused"])
        // Something was taken, but there is still no room.
        shard.acknowledge()
        shard.turn()
        shard.acceptCommit()
        shard.deliver()
        shard.turn()
        pressure.tell(shard.figures, start + .seconds(2), log)
        expect(lines(of: log).count, is: 1)
        shard.acknowledge()
        shard.turn()
        shard.acceptCommit()
        shard.turn()
        for _ in 0..<2 { pressure.tell(shard.figures, start + .seconds(3), log) }
        expect(lines(of: log).dropFirst(), is: ["intake resumed"])
    }
}

@Suite("The inbox of a shard")
struct ShardInboxTests {
    @Test("A shard takes everything from its inbox once, in whatever order it looks", arguments: 0..<2)
    func once(first: Int) {
        let inbox = ShardInbox(shard: 4)
        var results: [Int] = []
        inbox.results.post(3)
        #expect(!inbox.isEnding)
        inbox.postTermination()
        inbox.results.post(5)
        inbox.postTermination()
        var terminations = 0
        for step in 0..<4 {
            if (first + step).isMultiple(of: 2) {
                terminations += inbox.takeTerminations()
            } else {
                results += inbox.results.take()
            }
        }
        #expect(terminations == 2 && inbox.isEnding)
        expect(results, is: [3, 5])
        inbox.results.post(8)
        results += inbox.results.take()
        expect(results, is: [3, 5, 8])
    }
}

@Suite("Readiness of the service")
struct ReadinessTests {
    private typealias Shard = ScriptedShard

    private func words(isEnding: Bool = false, _ figures: [ShardFigures], counts: Bool = true) -> [String] {
        ShardThreads.reasons(isEnding: isEnding, figures, contacts: nil, counts: counts).map(\.word)
    }

    @Test("The service is not ready if a partition's committed offset is missing for 15 s")
    func unserved() {
        let shard = Shard()
        shard.ports.events = [.assigned([Shard.partition()])]
        func words(after time: Duration) -> [String] {
            shard.turn(after: time)
            var figures = shard.figures
            figures.hasJoined = true
            return self.words([figures])
        }
        expect(words(after: .zero), is: [])
        expect(words(after: .seconds(14)), is: [])
        expect(words(after: .seconds(1)), is: ["not-served"])
        shard.ports.events = [.committed([Shard.position(0)])]
        expect(words(after: .zero), is: [])
    }

    @Test("A partition that waits for its offset is restoring, and after 15 s not served")
    func asking() {
        let shard = Shard { $0.counts = true }
        shard.ports.events = [.assigned([Shard.partition()])]
        func words(after time: Duration) -> [String] {
            shard.turn(after: time)
            var figures = shard.figures
            figures.hasJoined = true
            return self.words([figures])
        }
        expect(words(after: .zero), is: ["restoring-counts"])
        expect(words(after: .seconds(14)), is: ["restoring-counts"])
        expect(words(after: .seconds(1)), is: ["not-served"])
    }

    @Test("The service is ready when every shard has joined, has transactions, and can publish")
    func reasons() {
        var figures = ShardFigures()
        expect(words([figures, figures]), is: ["not-joined"])
        figures.hasJoined = true
        var other = ShardFigures()
        expect(words([figures, other]), is: ["not-joined"])
        other.hasJoined = true
        expect(words([figures, other]), is: [])
        other.isGroupLate = true
        expect(words([figures, other]), is: ["not-joined"])
        other.isGroupLate = false
        other.isAnswered = false
        expect(words([figures, other]), is: ["cannot-publish"])
        other.isAnswered = true
        other.isInitialized = false
        figures.canPublish = false
        expect(words([other, figures]), is: ["no-transactions", "cannot-publish"])
        expect(words(isEnding: true, [figures]), is: ["ending", "cannot-publish"])
        let contacts = ("contacts-not-restored", "they are read")
        let all = ShardThreads.reasons(isEnding: true, [], contacts: contacts, counts: true)
        expect(all.map(\.word), is: ["ending", "contacts-not-restored"])
    }

    @Test("What is refused again and again is told with its reason; what is tried no more says nothing")
    func refusal() {
        let begun = Instant.past + .seconds(60)
        var refusal = Refusal("badges: not allowed", begun, after: nil)
        refusal = Refusal("badges: still not", begun + .seconds(19), after: refusal)
        expect(refusal.since, is: begun)
        #expect(refusal.isCurrent(begun + .seconds(38)) && !refusal.isCurrent(begun + .seconds(39)))
        expect(Refusal("badges: again", begun + .seconds(39), after: refusal).since, is: begun + .seconds(39))
        var figures = ShardFigures()
        (figures.hasJoined, figures.isAnswered, figures.refusal) = (true, false, refusal.reason)
        let told = ShardThreads.reasons(isEnding: false, [figures], contacts: nil, counts: true)
        expect(told.map(\.sentence), is: ["nothing is committed: badges: still not"])
    }

    @Test("A partition whose counts the changelog does not take is told, though it takes those of another")
    func uncounted() {
        let shard = ScriptedShard.counting()
        shard.begin(0..<2)
        func told() -> [(word: String, sentence: String)] {
            var figures = shard.figures
            figures.hasJoined = true
            return ShardThreads.reasons(isEnding: false, [figures], contacts: nil, counts: true)
        }
        var unreported: [UInt64] = []
        var offset: Int64 = 0
        func report(_ tag: UInt64) -> OutputReport<ScriptedPorts.Output> {
            offset += 1
            return OutputReport(tag: tag, offset: offset)
        }
        // Of the second partition, nothing is reported.
        shard.deliver(of: 1)
        for second in 0..<5 {
            expect(told().map(\.word), is: [], "after \(second) s")
            shard.deliver(of: 0)
            shard.turn()
            shard.acknowledge()
            shard.turn()
            shard.turn(after: .milliseconds(20))
            for change in shard.ports.takeSentChanges() {
                let isSecond = EntryTable.change(ofTag: change.tag)?.partition == 1
                if isSecond { unreported.append(change.tag) } else { shard.ports.reports.append(report(change.tag)) }
            }
            shard.turn(after: .seconds(1))
        }
        expect(told().map(\.word), is: ["cannot-publish"])
        #expect(told().first?.sentence.contains("takes no counts of 1 partitions") == true)
        shard.ports.reports = unreported.map { report($0) }
        shard.turn()
        expect(told().map(\.word), is: [])
    }

    @Test("The reason says how many partitions wait for counts, and how many records are left")
    func restoring() {
        let shard = ScriptedShard { $0.counts = true }
        shard.ports.events = [.assigned([ScriptedShard.partition(0), ScriptedShard.partition(1)])]
        shard.turn()
        shard.ports.events = [.committed([0, 1].map { ScriptedShard.commit(0, of: $0) })]
        shard.turn()
        var reading = shard.figures
        reading.hasJoined = true
        func told() -> [String] {
            ShardThreads.reasons(isEnding: false, [reading, reading], contacts: nil, counts: true).map(\.sentence)
        }
        reading.restoreLeft = 40
        expect(told(), is: ["restoring the counts of 4 partitions: at most 80 changelog records are left"])
        reading.restoreLeft = 0
        #expect(told().first?.contains("fewer partitions than the input") == true && told().count == 1)
        expect(words([reading], counts: false), is: [])
    }
}
