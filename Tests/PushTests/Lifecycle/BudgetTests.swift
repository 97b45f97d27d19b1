import PushmillPayload
import PushmillTestSupport
import Testing

@testable import PushmillStages

@Suite("Stage budgets")
struct BudgetTests {
    private let time = ManualTime()
    private let observer = RecordingObserver()

    private func chain(_ links: [ChainLink]) -> Chain { Chain(links, time: .manual(time), observer: observer) }

    private func waiting(_ name: String, _ began: Gate, _ release: Gate) -> ScriptedStage {
        ScriptedStage(
            name,
            receive: { content, _ in
                content.body = (content.body ?? "") + name
                began.open()
                await release.wait()
                return .ok
            },
            expire: { content, _ in
                content.body = (content.body ?? "") + name + "?"
                return .word("note")
            })
    }

    @Test("A stage that exceeds its budget makes its last-chance edit, and the chain goes on without it")
    func beyond() async throws {
        let (began, release) = (Gate(), Gate())
        let chain = chain([
            ChainLink(ScriptedStage.marking("a")),
            ChainLink(waiting("w", began, release), budget: .seconds(10)),
            ChainLink(ScriptedStage.marking("b")),
        ])
        let delivery = Delivery()
        time.advance(by: .seconds(1))
        let step = Message().begin(chain, delivery)
        let work = try #require(step.work)
        let late = Task { await work.run() }
        await began.wait()
        expect(step.limit, is: Instant(nanoseconds: 11_000_000_000))
        expect(delivery.nextWakeUp, is: step.limit)
        #expect(chain.wakeUp(delivery, now: Instant(nanoseconds: 10_999_999_999)).isNotDue)
        let verdict = try #require(chain.wakeUp(delivery, now: Instant(nanoseconds: 11_000_000_000)).verdict)
        let published = Published(verdict, delivery)
        expect(published.outcome, is: .modified)
        expect(published.value, is: Message.text.replacing("Hello", with: "Helloaw?b"))
        expect(published.stages, is: "a=ok,w=note,b=ok")
        release.open()
        await expect(late.value, is: false)
        expect(observer.events, is: ["0 ok", "1 abandoned", "1 note", "2 ok", "1 came late"])
    }

    @Test("A late stage's result is dropped while the next stage waits")
    func lateDuringTheNext() async throws {
        let first = (began: Gate(), release: Gate())
        let second = (began: Gate(), release: Gate())
        let chain = chain([
            ChainLink(waiting("v", first.began, first.release), budget: .seconds(1)),
            ChainLink(waiting("w", second.began, second.release), budget: .seconds(5)),
        ])
        let delivery = Delivery()
        let begin = Message().begin(chain, delivery)
        expect(begin.limit, is: Instant(nanoseconds: 1_000_000_000))
        let work = try #require(begin.work)
        let late = Task { await work.run() }
        await first.began.wait()
        time.advance(by: .seconds(1))
        let step = chain.wakeUp(delivery, now: time.now)
        expect(step.limit, is: Instant(nanoseconds: 6_000_000_000))
        let next = try #require(step.work)
        let run = Task { await next.run() }
        await second.began.wait()
        first.release.open()
        await expect(late.value, is: false)
        #expect(chain.resume(delivery, now: time.now) == nil)
        second.release.open()
        #expect(await run.value)
        let verdict = try #require(chain.resume(delivery, now: time.now)?.verdict)
        expect(Published(verdict, delivery).value, is: Message.text.replacing("Hello", with: "Hellov?w"))
    }

    @Test("A budget longer than the deadline ends at the deadline")
    func cappedByDeadline() async throws {
        let (began, release) = (Gate(), Gate())
        let chain = chain([ChainLink(waiting("w", began, release), budget: .seconds(60))])
        let delivery = Delivery()
        let step = Message().begin(chain, delivery)
        let work = try #require(step.work)
        let late = Task { await work.run() }
        await began.wait()
        expect(step.limit, is: Instant(nanoseconds: 30_000_000_000))
        expect(chain.wakeUp(delivery, now: delivery.nextWakeUp).verdict, is: Verdict(.bestAttempt))
        release.open()
        await expect(late.value, is: false)
    }

    @Test("A stage's remaining time is measured with the chain's clock")
    func timeLeft() async {
        let asking = ScriptedStage("a") { [time] content, context in
            time.advance(by: .seconds(1))
            content.body = context.timeLeft == .seconds(9) ? "9" : "?"
            return .ok
        }
        let published = await Message().publish(chain([ChainLink(asking, budget: .seconds(10))]))
        expect(published?.value, is: Message.text.replacing("Hello", with: "9"))
    }

    @Test("An immediate stage is not timed if its message is not to be measured")
    func unmeasured() {
        let observer = RecordingObserver(measuresStages: true)
        let stage = ScriptedStage(
            "s", isImmediate: true,
            receive: { [time] _, _ in
                time.advance(by: .nanoseconds(1500))
                return .ok
            })
        let chain = Chain([ChainLink(stage)], time: .manual(time), observer: observer)
        for isMeasured in [true, false] {
            let delivery = Delivery()
            delivery.isMeasured = isMeasured
            expect(Message().begin(chain, delivery).verdict, is: Verdict(.modified))
        }
        expect(observer.events, is: ["0 ok 1500", "0 ok 0"])
    }

    @Test("Each stage that waits is timed")
    func measured() async {
        let observer = RecordingObserver(measuresStages: true)
        let slow = ScriptedStage("s") { [time] _, _ in
            time.advance(by: .nanoseconds(1500))
            return .ok
        }
        let chain = Chain(
            [ChainLink(slow), ChainLink(ScriptedStage.marking("b"))], time: .manual(time), observer: observer)
        _ = await Message().publish(chain)
        expect(observer.events, is: ["0 ok 1500", "1 ok 0"])
    }

    @Test("The time of an abandoned stage ends when it is abandoned", arguments: [10, 60])
    func measuredInVain(budget: Int) async throws {
        let observer = RecordingObserver(measuresStages: true)
        let (began, release) = (Gate(), Gate())
        let chain = Chain(
            [ChainLink(waiting("w", began, release), budget: .seconds(budget))], time: .manual(time),
            observer: observer)
        let delivery = Delivery()
        let step = Message().begin(chain, delivery)
        let work = try #require(step.work)
        let late = Task { await work.run() }
        await began.wait()
        _ = try #require(chain.wakeUp(delivery, now: delivery.nextWakeUp).verdict)
        // The deadline is 30 s.
        expect(observer.events, is: ["0 abandoned", "0 note \(min(budget, 30) * 1_000_000_000)"])
        release.open()
        await expect(late.value, is: false)
    }
}
