import Testing

@testable import Push

@Suite("Stage budgets")
struct BudgetTests {
    private let time = ManualTime()
    private let host = TestHost()
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

    @Test("A stage beyond its budget gets its last-chance edit, and the chain goes on without it")
    func beyond() async throws {
        let (began, release) = (Gate(), Gate())
        let chain = chain([
            ChainLink(ScriptedStage.marking("a")),
            ChainLink(waiting("w", began, release), budget: .seconds(10)),
            ChainLink(ScriptedStage.marking("b")),
        ])
        let delivery = Delivery(host: host)
        #expect(Message().begin(chain, delivery) == .run)
        time.advance(by: .seconds(1))
        let late = Task { await chain.run(delivery) }
        await began.wait()
        #expect(delivery.nextWakeUp == Instant(nanoseconds: 11_000_000_000))
        #expect(chain.timer(delivery, now: Instant(nanoseconds: 10_999_999_999)) == .early)
        #expect(chain.timer(delivery, now: Instant(nanoseconds: 11_000_000_000)) == .run)
        let verdict = try #require(await chain.run(delivery))
        let published = Published(verdict, delivery)
        #expect(published.outcome == .modified)
        #expect(published.value == Message.text.replacing("Hello", with: "Helloaw?b"))
        #expect(published.stages == "a=ok,w=note,b=ok")
        release.open()
        #expect(await late.value == nil)
        #expect(observer.events == ["0 ok", "1 abandoned", "1 note", "2 ok", "1 came late"])
    }

    @Test("The late stage is recognised while the next one waits")
    func lateDuringTheNext() async throws {
        let first = (began: Gate(), release: Gate())
        let second = (began: Gate(), release: Gate())
        let chain = chain([
            ChainLink(waiting("v", first.began, first.release), budget: .seconds(1)),
            ChainLink(waiting("w", second.began, second.release), budget: .seconds(5)),
        ])
        let delivery = Delivery(host: host)
        #expect(Message().begin(chain, delivery) == .run)
        let late = Task { await chain.run(delivery) }
        await first.began.wait()
        time.advance(by: .seconds(1))
        #expect(chain.timer(delivery, now: time.now) == .run)
        let run = Task { await chain.run(delivery) }
        await second.began.wait()
        first.release.open()
        #expect(await late.value == nil)
        second.release.open()
        let verdict = try #require(await run.value)
        #expect(Published(verdict, delivery).value == Message.text.replacing("Hello", with: "Hellov?w"))
        #expect(host.waits == [Instant(nanoseconds: 1_000_000_000), Instant(nanoseconds: 6_000_000_000)])
    }

    @Test("A budget beyond the deadline ends with it")
    func cappedByDeadline() async {
        let (began, release) = (Gate(), Gate())
        let chain = chain([ChainLink(waiting("w", began, release), budget: .seconds(60))])
        let delivery = Delivery(host: host)
        #expect(Message().begin(chain, delivery) == .run)
        let late = Task { await chain.run(delivery) }
        await began.wait()
        #expect(delivery.nextWakeUp == Instant(nanoseconds: 30_000_000_000))
        #expect(chain.timer(delivery, now: delivery.nextWakeUp) == .ended(Verdict(.bestAttempt)))
        release.open()
        #expect(await late.value == nil)
    }

    @Test("Time is measured for each stage, where that is wanted")
    func measured() async {
        let observer = RecordingObserver(measuresStages: true)
        let slow = ScriptedStage("s") { [time] _, _ in
            time.advance(by: .nanoseconds(1500))
            return .ok
        }
        var settings = Chain.Settings()
        settings.measuresStages = true
        let chain = Chain(
            [ChainLink(slow), ChainLink(ScriptedStage.marking("b"))], settings: settings, time: .manual(time),
            observer: observer)
        _ = await Message().publish(chain, host: host)
        #expect(observer.events == ["0 ok 1500", "1 ok 0"])
    }
}
