import Glibc
import PushmillPayload
import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillStages

@Suite("Races")
struct RaceTests {
    /// The number of deliveries: PUSHMILL_TEST_RACES, or a number that takes a second or two.
    private static let races = getenv("PUSHMILL_TEST_RACES").flatMap { Int(String(cString: $0)) } ?? 10_000
    private let deadline = Instant(nanoseconds: 30_000_000_000)

    private func chain(_ gate: Gate, _ observer: RunningStages) -> Chain {
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
        return Chain([ChainLink(waiting)], time: .manual(ManualTime()), observer: observer)
    }

    /// A thousand deliveries wait in a stage on the pool. Then a task lets the stages return, while this thread, which
    /// owns the deliveries, resumes those that have ended and expires the rest. The scheduler decides which comes
    /// first: rounds are added until both have happened.
    @Test("Each delivery is published once, whether its stage or its deadline comes first")
    func deliveries() async {
        var (inTime, late, faults, rounds) = (0, 0, 0, 0)
        let observer = RunningStages()
        while rounds < Self.races / 1000 || (inTime == 0 || late == 0) && rounds < 100 {
            rounds += 1
            let gate = Gate()
            let chain = chain(gate, observer)
            let ended = Mutex<[Int]>([])
            let pool = StagePool { tag in ended.withLock { $0.append(tag) } }
            let deliveries = (0..<1000).map { _ in Delivery() }
            for (number, delivery) in deliveries.enumerated() {
                delivery.tag = number
                if let work = Message().begin(chain, delivery).work { pool.start(work) } else { faults += 1 }
            }
            var verdicts = [Verdict?](repeating: nil, count: 1000)
            func publish(_ verdict: Verdict?, _ number: Int) {
                guard let verdict else { return }
                if verdicts[number] != nil { faults += 1 }
                verdicts[number] = verdict
                let value = Published(verdict, deliveries[number]).value
                let isInTime = verdict.outcome == .modified
                if isInTime { inTime += 1 } else { late += 1 }
                let expected =
                    isInTime ? #"{"body":"in time","title":"in time"}"# : #"{"body":"Hello","title":"late"}"#
                if value?.contains(expected) != true { faults += 1 }
            }
            let opening = Task { gate.open() }
            for number in deliveries.indices.reversed() {
                for tag in ended.withLock({ ended in ended.swapped(for: []) }) {
                    publish(chain.resume(deliveries[tag], now: .past)?.verdict, tag)
                }
                if verdicts[number] == nil { publish(chain.wakeUp(deliveries[number], now: deadline).verdict, number) }
            }
            await opening.value
            await observer.waitForAbandoned()
            for tag in ended.withLock({ $0 }) {
                if chain.resume(deliveries[tag], now: .past) != nil { faults += 1 }
            }
        }
        expect(inTime + late, is: rounds * 1000)
        expect(faults, is: 0)
        expect(observer.abandoned, is: 0)
        // Otherwise there was no race.
        #expect(inTime > 0)
        #expect(late > 0)
    }
}

extension Array {
    fileprivate mutating func swapped(for other: [Element]) -> [Element] {
        defer { self = other }
        return self
    }
}

/// Counts abandoned stages that still run, as the metric does.
private final class RunningStages: ChainObserver {
    private let count = Atomic(0)

    var abandoned: Int { count.load(ordering: .sequentiallyConsistent) }

    func stageAbandoned(_ stage: Int, isLate: Bool) { count.add(1, ordering: .sequentiallyConsistent) }

    func abandonedStageEnded(_ stage: Int) { count.subtract(1, ordering: .sequentiallyConsistent) }

    func waitForAbandoned() async {
        while abandoned > 0 { await Task.yield() }
    }
}
