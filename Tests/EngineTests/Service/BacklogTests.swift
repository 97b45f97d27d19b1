import PushmillSimulation
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine
@testable import PushmillKafka

@Suite("The backlog of a partition")
struct BacklogTests {
    private let id = TopicPartition("events", 0)
    private let start: Int64 = 1_700_000_000_000

    /// Offsets 0..<`taken` were taken, and `done` are finished. `lastTaken` is the timestamp of the last one taken.
    private func figures(
        taken: Int64, done: Range<Int64>, oldest: Int64?, lastTaken: Int64,
        state: Partition<SimulatedPorts>.State = .running
    ) -> ShardFigures.PartitionFigures {
        var partition = Partition<SimulatedPorts>(id, topic: 0, now: .past)
        partition.state = state
        partition.isHandedToConsumer = true
        for offset in 0..<taken { _ = partition.ledger.take(offset) }
        for offset in done { _ = partition.ledger.complete(offset) }
        partition.timestamp = lastTaken
        return ShardFigures.PartitionFigures(partition, oldest: oldest, canTake: true, now: .past)
    }

    private func log(
        end: Int64, next: Int64, fetched: Int = 1, isReached: Bool = true, hidden: Int64 = 0
    ) -> ClientStatistics.Partition {
        ClientStatistics.Partition(
            id: id, end: end, nextOffset: next, fetched: fetched, isReached: isReached, hidden: hidden)
    }

    @Test("A message that hangs before 150,000 finished ones is a lag of one with its age")
    func hanging() {
        var watch = BacklogWatch()
        let figures = figures(taken: 150_001, done: 1..<150_001, oldest: start, lastTaken: start + 30_000)
        let backlogs = watch.look([(figures, log(end: 150_001, next: 150_001))], now: start + 30_500)
        expect(backlogs, is: [Backlog(id: id, records: 1, seconds: 30.5)])
    }

    @Test("Extreme timestamps of records do not break the backlog's age", arguments: [Int64.min, -1, 0, .max])
    func timestamps(time: Int64) {
        var watch = BacklogWatch()
        let figures = figures(taken: 1, done: 0..<0, oldest: time, lastTaken: time)
        let seconds = watch.look([(figures, log(end: 1, next: 1))], now: start).first?.seconds
        expect(seconds, is: (time == .min || time == .max ? 0 : Double(start - time) / 1000))
    }

    @Test("Untaken records are at most as old as the last one taken")
    func behind() {
        var watch = BacklogWatch()
        let figures = figures(taken: 10, done: 0..<10, oldest: nil, lastTaken: start)
        let log = log(end: 1_000_010, next: 500)
        expect(watch.look([(figures, log)], now: start + 60_000).first?.seconds, is: 60)
        expect(watch.look([(figures, log)], now: start + 61_000).first?.seconds, is: 61)
        expect(watch.look([(figures, log)], now: start + 61_000).first?.records, is: 1_000_000)
    }

    @Test("After a quiet hour the backlog's age counts from when nothing was left to take")
    func quiet() {
        var watch = BacklogWatch()
        let figures = figures(taken: 10, done: 0..<10, oldest: nil, lastTaken: start)
        let hour: Int64 = 3_600_000
        expect(watch.look([(figures, log(end: 10, next: 10))], now: start + hour).first?.seconds, is: 0)
        let backlogs = watch.look([(figures, log(end: 11, next: 10))], now: start + hour + 2_000)
        expect(backlogs, is: [Backlog(id: id, records: 1, seconds: 2)])
    }

    @Test("While the broker is unreachable, the age counts from when nothing was left to take")
    func unreached() {
        var watch = BacklogWatch()
        let figures = figures(taken: 10, done: 0..<10, oldest: nil, lastTaken: start)
        expect(watch.look([(figures, log(end: 10, next: 10))], now: start + 60_000).first?.seconds, is: 0)
        let away = log(end: 10, next: 10, isReached: false)
        let backlogs = watch.look([(figures, away)], now: start + 90_000)
        expect(backlogs, is: [Backlog(id: id, records: 0, seconds: 30)])
        expect(watch.look([(figures, away)], now: start + 91_000).first?.seconds, is: 31)
        expect(watch.look([(figures, log(end: 10, next: 10))], now: start + 92_000).first?.seconds, is: 0)
    }

    @Test("While the broker refuses reads, the backlog ages, and its lag is unknown")
    func refused() {
        var watch = BacklogWatch()
        let figures = figures(taken: 10, done: 0..<10, oldest: nil, lastTaken: start)
        _ = watch.look([(figures, log(end: 10, next: 10))], now: start + 60_000)
        let backlogs = watch.look([(figures, log(end: -1, next: 10))], now: start + 90_000)
        expect(backlogs, is: [Backlog(id: id, records: nil, seconds: 30)])
        expect(watch.look([(figures, log(end: 10, next: 10))], now: start + 91_000).first?.seconds, is: 0)
    }

    @Test("If the broker was never reached, the backlog ages, and its lag is unknown")
    func neverReached() {
        var watch = BacklogWatch()
        let figures = figures(taken: 0, done: 0..<0, oldest: nil, lastTaken: 0)
        // A partition that is served but was never fetched begins at the committed offset.
        let away = log(end: -1001, next: 0, fetched: 0, isReached: false)
        _ = watch.look([(figures, away)], now: start)
        let backlogs = watch.look([(figures, away)], now: start + 90_000)
        #expect(backlogs.map(\.records) == [nil] && backlogs.map(\.seconds) == [90])
    }

    @Test("A clock that is set back does not hide how long records wait", arguments: [true, false])
    func clockSetBack(isServed: Bool) {
        var watch = BacklogWatch()
        let taken: Int64 = isServed ? 10 : 0
        let figures = figures(
            taken: taken, done: 0..<taken, oldest: nil, lastTaken: start, state: isServed ? .running : .restoring)
        let hour: Int64 = 3_600_000
        _ = watch.look([(figures, log(end: taken, next: taken))], now: start + 2 * hour)
        let away = log(end: taken, next: taken, isReached: false)
        _ = watch.look([(figures, away)], now: start + hour)
        expect(watch.look([(figures, away)], now: start + hour + 90_000).first?.seconds, is: 90)
    }

    @Test("Offsets behind a log's last record, such as a transaction's marker, are no backlog")
    func marks() {
        var watch = BacklogWatch()
        let figures = figures(taken: 10, done: 0..<10, oldest: nil, lastTaken: start)
        let backlogs = watch.look([(figures, log(end: 12, next: 12, fetched: 0))], now: start + 5_000)
        expect(backlogs, is: [Backlog(id: id, records: 0, seconds: 0)])
    }

    @Test("What an open transaction hides ages from when nothing was left to take, until it can be taken")
    func hidden() {
        var watch = BacklogWatch()
        let figures = figures(taken: 10, done: 0..<10, oldest: nil, lastTaken: start)
        _ = watch.look([(figures, log(end: 10, next: 10))], now: start + 60_000)
        for seconds in [1, 90] {
            let backlogs = watch.look(
                [(figures, log(end: 10, next: 10, hidden: 5))], now: start + 60_000 + Int64(seconds) * 1000)
            expect(backlogs, is: [Backlog(id: id, records: 0, seconds: Double(seconds))])
        }
        expect(watch.look([(figures, log(end: 10, next: 10))], now: start + 151_000).first?.seconds, is: 0)
    }

    @Test("Records that a waiting partition fetched and dropped count as backlog")
    func dropped() {
        var watch = BacklogWatch()
        let figures = figures(taken: 10, done: 1..<10, oldest: start, lastTaken: start, state: .stalled(10))
        let backlogs = watch.look([(figures, log(end: 1_000, next: 900, fetched: 0))], now: start + 1_000)
        expect(backlogs, is: [Backlog(id: id, records: 991, seconds: 1)])
    }

    @Test("If the window is full, records that were fetched but not taken count as backlog")
    func stalled() {
        let shard = ScriptedShard()
        shard.begin()
        shard.suspend([0], for: .seconds(9))
        let far = Int64(OffsetLedger.spanLimit)
        shard.ports.messages = [
            ScriptedPorts.Message(offset: 0, timestamp: start), ScriptedPorts.Message(offset: far),
        ]
        shard.turn()
        let figures = shard.figures.partitions
        #expect(figures.map(\.next) == [1] && figures.map(\.inFlight) == [1])
        var watch = BacklogWatch()
        let backlogs = watch.look(
            figures.map { ($0, log(end: far + 100, next: far + 1, fetched: 0)) }, now: start + 60_000)
        expect(backlogs, is: [Backlog(id: ScriptedShard.partition(), records: far + 100, seconds: 60)])
    }

    @Test("Until the log's end is known, the backlog has an age but no lag")
    func unknownEnd() {
        var watch = BacklogWatch()
        let figures = figures(taken: 1, done: 0..<0, oldest: start, lastTaken: start)
        let backlogs = watch.look([(figures, nil)], now: start + 1_000)
        expect(backlogs, is: [Backlog(id: id, records: nil, seconds: 1)])
    }

    @Test("The backlog of an unserved partition ages from when the partition came")
    func unserved() {
        var watch = BacklogWatch()
        let figures = figures(taken: 0, done: 0..<0, oldest: nil, lastTaken: 0, state: .restoring)
        _ = watch.look([(figures, nil)], now: start)
        let backlogs = watch.look([(figures, nil)], now: start + 90_000)
        expect(backlogs, is: [Backlog(id: id, records: nil, seconds: 90)])
    }

    @Test("A partition that is unserved again keeps the age of its unfinished records")
    func unservedAgain() {
        var watch = BacklogWatch()
        let restoring = figures(taken: 0, done: 0..<0, oldest: nil, lastTaken: 0, state: .restoring)
        _ = watch.look([(restoring, nil)], now: start)
        let later = start + 3_600_000
        let busy = figures(taken: 10, done: 0..<9, oldest: later - 500, lastTaken: later - 500)
        expect(watch.look([(busy, log(end: 20, next: 10))], now: later).first?.seconds, is: 0.5)
        expect(watch.look([(restoring, nil)], now: later + 2_000).first?.seconds, is: 2.5)
        let begun = figures(taken: 0, done: 0..<0, oldest: nil, lastTaken: 0)
        expect(watch.look([(begun, log(end: 20, next: 0))], now: later + 3_000).first?.seconds, is: 3.5)
    }

    @Test("A partition that comes back starts over, and a timestamp ahead of the clock gives no age")
    func anew() {
        var watch = BacklogWatch()
        let idle = figures(taken: 10, done: 0..<10, oldest: nil, lastTaken: start)
        _ = watch.look([(idle, log(end: 10, next: 10))], now: start + 100_000)
        #expect(watch.look([], now: start + 101_000).isEmpty)
        expect(watch.look([(idle, log(end: 11, next: 10))], now: start + 102_000).first?.seconds, is: 102)
        let ahead = figures(taken: 10, done: 0..<9, oldest: start + 200_000, lastTaken: start)
        expect(watch.look([(ahead, log(end: 10, next: 10))], now: start + 103_000).first?.seconds, is: 0)
    }
}
