import Testing

@testable import Push

@Suite("Deadline")
struct DeadlineTests {
    private let time = ManualTime()
    private let host = TestHost()
    private let observer = RecordingObserver()
    private let began = Gate()
    private let release = Gate()
    private let deadline = Instant(nanoseconds: 30_000_000_000)

    private func chain(_ links: [ChainLink]) -> Chain { Chain(links, time: .manual(time), observer: observer) }

    /// Changes the text, then waits for the gate whatever else happens.
    private var hanging: ScriptedStage {
        ScriptedStage(
            "h",
            receive: { [began, release] content, _ in
                content.body = "too late"
                began.open()
                await release.wait()
                return .ok
            },
            expire: { content, _ in
                content.subtitle = "late"
                return .expired
            })
    }

    private func start(_ chain: Chain, _ delivery: Delivery) async -> Task<Verdict?, Never> {
        #expect(Message().begin(chain, delivery) == .run)
        let run = Task { await chain.run(delivery) }
        await began.wait()
        return run
    }

    @Test("A stage that returns in time has its say")
    func inTime() async {
        let chain = chain([ChainLink(ScriptedStage.marking("a")), ChainLink(hanging)])
        let delivery = Delivery(host: host)
        let run = await start(chain, delivery)
        #expect(chain.timer(delivery, now: Instant(nanoseconds: 29_999_999_999)) == .early)
        release.open()
        let verdict = await run.value
        #expect(verdict?.outcome == .modified)
        #expect(verdict.map { Published($0, delivery).value } == Message.text.replacing("Hello", with: "too late"))
        #expect(chain.timer(delivery, now: deadline) == .nothing)
        #expect(host.waits == [deadline])
    }

    @Test("When the deadline comes the best attempt leaves, and what the stage does later is dropped and counted")
    func late() async throws {
        let chain = chain([
            ChainLink(ScriptedStage.marking("a")), ChainLink(hanging), ChainLink(ScriptedStage.marking("b")),
        ])
        let delivery = Delivery(host: host)
        let run = await start(chain, delivery)
        guard case .ended(let verdict) = chain.timer(delivery, now: deadline) else {
            Issue.record("the deadline was not obeyed")
            return
        }
        let published = Published(verdict, delivery)
        #expect(published.outcome == .bestAttempt)
        #expect(
            published.value == #"{"aps":{"alert":{"body":"Helloab?","subtitle":"late"},"mutable-content":1}}"#)
        #expect(published.stages == "a=ok,h=expired,b=expired")

        // The delivery is used again while the stage still runs.
        let other = Chain([ChainLink(ScriptedStage.marking("c"))])
        #expect(Message().begin(other, delivery) == .run)
        let next = await other.run(delivery)
        #expect(next?.outcome == .modified)
        release.open()
        #expect(await run.value == nil)
        #expect(Published(try #require(next), delivery).value == Message.text.replacing("Hello", with: "Helloc"))
        #expect(observer.events == ["0 ok", "1 abandoned", "1 expired", "2 expired", "1 came late"])
    }

    @Test("A stage that never returns holds nothing but itself")
    func never() async {
        let chain = chain([ChainLink(hanging)])
        let delivery = Delivery(host: host)
        let run = await start(chain, delivery)
        #expect(chain.timer(delivery, now: deadline) == .ended(Verdict(.bestAttempt)))
        #expect(chain.timer(delivery, now: deadline) == .nothing)
        #expect(chain.expireFromOutside(delivery, now: deadline) == nil)
        release.open()
        #expect(await run.value == nil)
    }

    @Test("The stage and the deadline in the same instant: who takes the delivery first publishes")
    func sameInstant() async {
        let chain = chain([ChainLink(hanging)])
        let delivery = Delivery(host: host)
        let run = await start(chain, delivery)
        time.advance(by: .seconds(30))
        release.open()
        #expect(await run.value?.outcome == .modified)
        #expect(chain.timer(delivery, now: time.now) == .nothing)
    }

    @Test("A stage that listens is cancelled")
    func cancelled() async {
        let ended = Gate()
        let listening = ScriptedStage("l") { [began] _, _ in
            began.open()
            defer { ended.open() }
            try await Task.sleep(for: .seconds(3600))
            return .ok
        }
        let chain = chain([ChainLink(listening)])
        let delivery = Delivery(host: host)
        #expect(Message().begin(chain, delivery) == .run)
        let run = Task { _ = await chain.run(delivery) }
        await began.wait()
        delivery.suspended(in: run)
        #expect(chain.timer(delivery, now: deadline) == .ended(Verdict(.bestAttempt)))
        await ended.wait()
        await run.value
        #expect(observer.events.last == "0 came late")
    }

    @Test("A stage that throws is undone, and says why if it can", arguments: [true, false])
    func throwing(isImmediate: Bool) async {
        struct Surprise: Error {}
        let failing = ScriptedStage("f", isImmediate: isImmediate) { content, _ in
            content.body = "half-done"
            throw StageFailure("no-luck")
        }
        let surprising = ScriptedStage("s", isImmediate: isImmediate) { content, _ in
            content.title = "half-done"
            throw Surprise()
        }
        let chain = chain([
            ChainLink(ScriptedStage.marking("a")), ChainLink(failing), ChainLink(surprising),
            ChainLink(ScriptedStage.marking("b")),
        ])
        let published = await Message().publish(chain, host: host)
        #expect(published?.value == Message.text.replacing("Hello", with: "Helloab"))
        #expect(published?.stages == "a=ok,f=failed:no-luck,s=failed:error,b=ok")
    }

    @Test("What waited for a whole deadline gets last-chance edits alone")
    func behindAHangingOne() {
        let chain = chain([ChainLink(ScriptedStage.marking("a")), ChainLink(hanging)])
        for _ in 1...10 {
            let delivery = Delivery(host: host)
            guard case .ended(let verdict) = Message().begin(chain, delivery, after: .seconds(30)) else {
                Issue.record("a late message ran")
                return
            }
            let published = Published(verdict, delivery)
            #expect(published.outcome == .bestAttempt)
            #expect(published.value?.contains("Helloa?") == true)
        }
        #expect(Message().begin(chain, Delivery(host: host), after: .nanoseconds(29_999_999_999)) == .run)
    }

    @Test("No stage that may wait begins after the deadline")
    func noneBeginsLate() async {
        let slow = ScriptedStage("slow", isImmediate: true) { [time] content, _ in
            time.advance(by: .seconds(31))
            content.body = "slow"
            return .ok
        }
        let chain = chain([ChainLink(slow), ChainLink(hanging)])
        let published = await Message().publish(chain, host: host)
        #expect(published?.outcome == .bestAttempt)
        #expect(published?.stages == "slow=ok,h=expired")
        #expect(host.waits.isEmpty)
    }

    @Test("A stage that blocks its thread is left behind by another thread")
    func blocked() async throws {
        let chain = chain([ChainLink(ScriptedStage.marking("a")), ChainLink(hanging)])
        let delivery = Delivery(host: host)
        let run = await start(chain, delivery)
        #expect(chain.expireFromOutside(delivery, now: Instant(nanoseconds: 29_999_999_999)) == nil)
        let verdict = try #require(chain.expireFromOutside(delivery, now: deadline))
        let published = Published(verdict, delivery)
        #expect(published.stages == "a=ok,h=expired")
        #expect(published.value?.contains("Helloa") == true)
        #expect(chain.timer(delivery, now: deadline) == .nothing)
        release.open()
        #expect(await run.value == nil)
        #expect(Published(verdict, delivery) == published)
    }

    @Test("Nothing comes of a message that is given up, whose time was not over")
    func givenUp() async throws {
        let chain = chain([ChainLink(hanging)])
        let delivery = Delivery(host: host)
        let run = await start(chain, delivery)
        #expect(chain.giveUp(delivery))
        #expect(!chain.giveUp(delivery))
        #expect(chain.expireFromOutside(delivery, now: deadline) == nil)
        release.open()
        #expect(await run.value == nil)
        #expect(observer.events == ["0 given up", "0 came late"])
    }

    @Test("A task that turns up when its delivery is gone is cancelled at once")
    func lateTask() async throws {
        let chain = chain([ChainLink(hanging)])
        let delivery = Delivery(host: host)
        let run = await start(chain, delivery)
        _ = try #require(chain.expireFromOutside(delivery, now: deadline))
        let task = Task { [release] in
            await release.wait()
            #expect(Task.isCancelled)
        }
        delivery.suspended(in: task)
        release.open()
        await task.value
        #expect(await run.value == nil)
    }
}
