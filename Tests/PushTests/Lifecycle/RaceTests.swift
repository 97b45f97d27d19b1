import Glibc
import Synchronization
import Testing

@testable import Push

@Suite("Races")
struct RaceTests {
    /// How many deliveries: PUSHMILL_TEST_RACES, else what takes a second or two.
    private static let races = getenv("PUSHMILL_TEST_RACES").flatMap { Int(String(cString: $0)) } ?? 10_000

    @Test("A million claims are won by one each")
    func claims() {
        final class Contest: Sendable {
            let claim = Claim()
            let attempt: UInt64
            let wins = Atomic(0)

            init() { attempt = claim.open(until: Instant(nanoseconds: 1)) }
        }
        var returned = 0
        for _ in 0..<1000 {
            let contests = (0..<1000).map { _ in Contest() }
            let rival = OwnThread {
                for contest in contests where contest.claim.seizeForGood(now: Instant(nanoseconds: 1)) {
                    contest.wins.add(1, ordering: .relaxed)
                }
            }
            for contest in contests.reversed() where contest.claim.close(contest.attempt) {
                contest.wins.add(1, ordering: .relaxed)
                returned += 1
            }
            rival.join()
            #expect(contests.allSatisfy { $0.wins.load(ordering: .relaxed) == 1 })
        }
        // Otherwise there was no race.
        #expect((1..<1_000_000).contains(returned))
    }

    /// Each delivery waits in a stage. Then, at once, the stages return, the lane's timer comes and another thread finds
    /// the lane stuck.
    @Test("Deliveries are published once each, whoever finishes first")
    func deliveries() async {
        let deadline = Instant(nanoseconds: 30_000_000_000)
        let winners = Winners()
        for _ in 0..<Self.races / 1000 {
            let contests = (0..<1000).map { _ in Contest() }
            await withTaskGroup(of: Void.self) { group in
                for contest in contests {
                    group.addImmediateTask {
                        if let verdict = await contest.chain.run(contest.delivery) { contest.publish(verdict, .stage) }
                    }
                }
                let timer = OwnThread {
                    for contest in contests {
                        let step = contest.chain.timer(contest.delivery, now: deadline)
                        if case .ended(let verdict) = step { contest.publish(verdict, .timer) }
                    }
                }
                let watchdog = OwnThread {
                    for contest in contests.reversed() {
                        let verdict = contest.chain.expireFromOutside(contest.delivery, now: deadline)
                        if let verdict { contest.publish(verdict, .watchdog) }
                    }
                }
                for contest in contests { contest.gate.open() }
                await group.waitForAll()
                timer.join()
                watchdog.join()
            }
            for contest in contests { contest.tell(winners) }
        }
        #expect(winners.total == Self.races / 1000 * 1000)
        #expect(winners.faults == 0)
        // Otherwise there was no race.
        for winner in Winner.allCases { #expect(winners.count(winner) > 0) }
    }
}

private enum Winner: Int, CaseIterable { case stage, timer, watchdog }

private final class Winners {
    private var counts = [0, 0, 0]
    var faults = 0

    var total: Int { counts.reduce(0, +) }

    func count(_ winner: Winner) -> Int { counts[winner.rawValue] }

    func add(_ winner: Winner) { counts[winner.rawValue] += 1 }
}

/// One delivery that three want.
private final class Contest: Sendable {
    let chain: Chain
    let delivery = Delivery()
    let gate: Gate
    private let publications = Mutex<[(Winner, String?)]>([])

    init() {
        let gate = Gate()
        let waiting = ScriptedStage(
            "w",
            receive: { content, _ in
                content.body = "in time"
                await gate.wait()
                content.title = "in time"
                return .ok
            },
            expire: { content, _ in
                content.title = "late"
                return .expired
            })
        chain = Chain([ChainLink(waiting)], time: .manual(ManualTime()))
        self.gate = gate
        if Message().begin(chain, delivery) != .run { publications.withLock { $0.append((.stage, nil)) } }
    }

    func publish(_ verdict: Verdict, _ winner: Winner) {
        let value = delivery.output.withValue { bytes in bytes.map { String(decoding: $0, as: UTF8.self) } }
        publications.withLock { $0.append((winner, value)) }
    }

    func tell(_ winners: Winners) {
        let publications = publications.withLock { $0 }
        for (winner, value) in publications {
            winners.add(winner)
            let expected =
                winner == .stage ? #"{"body":"in time","title":"in time"}"# : #"{"body":"Hello","title":"late"}"#
            if value?.contains(expected) != true { winners.faults += 1 }
        }
        if publications.count != 1 { winners.faults += 1 }
    }
}
