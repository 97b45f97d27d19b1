import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("Deadline")
struct DeadlineTests {
    private let time = ManualTime()
    private let observer = RecordingObserver()
    private let began = Gate()
    private let release = Gate()
    private let deadline = Instant(nanoseconds: 30_000_000_000)

    private func chain(_ links: [ChainLink]) -> Chain { Chain(links, time: .manual(time), observer: observer) }

    /// Changes the body, then waits for `release` and ignores cancellation.
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

    /// Starts the work in a task and waits until the stage has begun; `release` lets it end.
    private func start(
        _ chain: Chain, _ delivery: Delivery
    ) async throws -> (run: Task<Bool, Never>, limit: Instant?) {
        let step = Message().begin(chain, delivery)
        let work = try #require(step.work)
        let run = Task { await work.run() }
        await began.wait()
        return (run, step.limit)
    }

    @Test("The edits of a stage that returns in time are published")
    func inTime() async throws {
        let chain = chain([ChainLink(ScriptedStage.marking("a")), ChainLink(hanging)])
        let delivery = Delivery()
        let (run, limit) = try await start(chain, delivery)
        expect(limit, is: deadline)
        let early = chain.wakeUp(delivery, now: Instant(nanoseconds: 29_999_999_999))
        #expect(early.isNotDue)
        expect(early.limit, is: deadline)
        #expect(chain.resume(delivery, now: .past) == nil)
        release.open()
        #expect(await run.value)
        let verdict = try #require(chain.resume(delivery, now: time.now)?.verdict)
        expect(verdict.outcome, is: .modified)
        expect(Published(verdict, delivery).value, is: Message.text.replacing("Hello", with: "too late"))
        #expect(chain.resume(delivery, now: deadline) == nil)
    }

    @Test(
        "At the deadline, or if it is late before that, the best attempt is published; the stage's result is dropped",
        arguments: [false, true])
    func late(isEarly: Bool) async throws {
        let chain = chain([
            ChainLink(ScriptedStage.marking("a")), ChainLink(hanging), ChainLink(ScriptedStage.marking("b")),
        ])
        let delivery = Delivery()
        let (run, _) = try await start(chain, delivery)
        let step = chain.wakeUp(delivery, now: isEarly ? time.now : deadline, isLate: isEarly)
        let verdict = try #require(step.verdict)
        let published = Published(verdict, delivery)
        expect(published.outcome, is: .bestAttempt)
        expect(
            published.value, is: #"{"aps":{"alert":{"body":"Helloab?","subtitle":"late"},"mutable-content":1}}"#)
        expect(published.stages, is: "a=ok,h=expired,b=expired")

        // The delivery is reused while the stage still runs.
        let other = Chain([ChainLink(ScriptedStage.marking("c"))])
        let next = try #require(Message().begin(other, delivery).verdict)
        expect(next.outcome, is: .modified)
        release.open()
        await expect(run.value, is: false)
        #expect(chain.resume(delivery, now: deadline) == nil)
        expect(Published(next, delivery).value, is: Message.text.replacing("Hello", with: "Helloc"))
        expect(observer.events, is: ["0 ok", "1 abandoned", "1 expired", "2 expired", "1 came late"])
    }

    @Test("A stage that never returns does not hold its delivery")
    func never() async throws {
        let chain = chain([ChainLink(hanging)])
        let delivery = Delivery()
        let (run, _) = try await start(chain, delivery)
        expect(chain.wakeUp(delivery, now: deadline).verdict, is: Verdict(.bestAttempt))
        #expect(chain.resume(delivery, now: deadline) == nil)
        delivery.clear()
        release.open()
        await expect(run.value, is: false)
    }

    @Test("A stage that returns before the chain checks the deadline is in time, whatever the clock says")
    func returnedFirst() async throws {
        let chain = chain([ChainLink(hanging), ChainLink(ScriptedStage.marking("b"))])
        let delivery = Delivery()
        let (run, _) = try await start(chain, delivery)
        time.advance(by: .seconds(30))
        release.open()
        #expect(await run.value)
        let verdict = try #require(chain.wakeUp(delivery, now: time.now).verdict)
        expect(verdict.outcome, is: .modified)
        expect(Published(verdict, delivery).value, is: Message.text.replacing("Hello", with: "too lateb"))
        #expect(chain.resume(delivery, now: time.now) == nil)
    }

    @Test("A stage that listens to cancellation is canceled at the deadline")
    func cancelled() async throws {
        let ended = Gate()
        let listening = ScriptedStage("l") { [began] _, _ in
            began.open()
            defer { ended.open() }
            try await Task.sleep(for: .seconds(3600))
            return .ok
        }
        let chain = chain([ChainLink(listening)])
        let delivery = Delivery()
        let work = try #require(Message().begin(chain, delivery).work)
        let run = Task { await work.run() }
        work.set(
            Task {
                await withTaskCancellationHandler {
                    _ = await run.value
                } onCancel: {
                    run.cancel()
                }
            })
        await began.wait()
        expect(chain.wakeUp(delivery, now: deadline).verdict, is: Verdict(.bestAttempt))
        await ended.wait()
        await expect(run.value, is: false)
        // The stage's thread may report before the thread that abandons the stage.
        #expect(observer.events.contains("0 came late"))
    }

    @Test("A stage that throws is undone, and its result is the failure's reason or `error`", arguments: [true, false])
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
        let published = await Message().publish(chain)
        expect(published?.value, is: Message.text.replacing("Hello", with: "Helloab"))
        expect(published?.stages, is: "a=ok,f=failed:no-luck,s=failed:error,b=ok")
    }

    @Test(
        "A message that waited for a whole deadline, or is late, gets only last-chance edits",
        arguments: [.seconds(30), nil] as [Duration?])
    func behindAHangingOne(wait: Duration?) throws {
        let chain = chain([ChainLink(ScriptedStage.marking("a")), ChainLink(hanging)])
        for _ in 1...10 {
            let delivery = Delivery()
            let verdict = try #require(Message().begin(chain, delivery, after: wait).verdict)
            let published = Published(verdict, delivery)
            expect(published.outcome, is: .bestAttempt)
            expect(published.value?.contains("Helloa?"), is: true)
        }
    }

    @Test("A deadline starts at a message's turn, not while the message waits for it")
    func startsAtTurn() throws {
        let chain = chain([ChainLink(hanging)])
        let wait = Duration.nanoseconds(29_999_999_999)
        guard case .suspended(let limit, _) = Message().begin(chain, Delivery(), after: wait) else {
            Issue.record("it got last-chance edits alone")
            return
        }
        expect(limit, is: chain.time.now + wait + .seconds(30))
    }

    @Test("No stage that may wait begins after the deadline")
    func noneBeginsLate() async {
        let slow = ScriptedStage("slow", isImmediate: true) { [time] content, _ in
            time.advance(by: .seconds(31))
            content.body = "slow"
            return .ok
        }
        let chain = chain([ChainLink(slow), ChainLink(hanging)])
        let published = await Message().publish(chain)
        expect(published?.outcome, is: .bestAttempt)
        expect(published?.stages, is: "slow=ok,h=expired")
    }

    @Test("A message that is given up before its deadline has no result")
    func givenUp() async throws {
        let chain = chain([ChainLink(hanging)])
        let delivery = Delivery()
        let (run, _) = try await start(chain, delivery)
        chain.abandon(delivery)
        chain.abandon(delivery)
        #expect(chain.resume(delivery, now: deadline) == nil)
        release.open()
        await expect(run.value, is: false)
        expect(observer.events, is: ["0 given up", "0 came late"])
    }

    @Test("Work that is abandoned before it begins never runs, and is counted like any other")
    func notBegun() async throws {
        let chain = chain([ChainLink(hanging)])
        let delivery = Delivery()
        let work = try #require(Message().begin(chain, delivery).work)
        expect(chain.wakeUp(delivery, now: deadline).verdict?.outcome, is: .bestAttempt)
        await expect(work.run(), is: false)
        expect(observer.events, is: ["0 abandoned", "0 expired", "0 came late"])
    }

    @Test("A task that is set after its stage was abandoned is canceled at once")
    func lateTask() async throws {
        let chain = chain([ChainLink(hanging)])
        let delivery = Delivery()
        let work = try #require(Message().begin(chain, delivery).work)
        _ = chain.wakeUp(delivery, now: deadline)
        let task = Task { [release] in
            await release.wait()
            #expect(Task.isCancelled)
        }
        work.set(task)
        release.open()
        await task.value
        await expect(work.run(), is: false)
    }

    @Test("An immediate result needs no pool; otherwise the stage's edits are undone before it waits")
    func atOnce() async throws {
        struct Asking: Stage {
            let name = "asking"
            func didReceive(_ content: inout NotificationContent, context: StageContext) async -> StageResult {
                content.body = (content.body ?? "") + " asked"
                return .ok
            }
            func didReceiveAtOnce(_ content: inout NotificationContent, context: StageContext) -> StageResult? {
                content.title = "at once"
                return context.recipient == "anna" ? .word("known") : nil
            }
        }
        let chain = chain([ChainLink(Asking())])
        let delivery = Delivery()
        let known = try #require(Message().begin(chain, delivery).verdict)
        expect(Published(known, delivery).stages, is: "asking=known")
        let boris = Message(key: "boris")
        #expect(boris.begin(chain, delivery).work != nil)
        chain.abandon(delivery)
        let asked = await boris.publish(chain)
        expect(asked?.stages, is: "asking=ok")
        expect(asked?.value, is: Message.text.replacing("Hello", with: "Hello asked"))
    }

    @Test("An async stage that claims to be immediate may still wait")
    func sworn() async throws {
        struct Sworn: Stage {
            let name = "sworn"
            let isImmediate = true
            func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
                await Task.yield()
                content.body = "sworn"
                return .ok
            }
        }
        let chain = chain([ChainLink(Sworn())])
        #expect(Message().begin(chain, Delivery()).work != nil)
        await expect(Message().publish(chain)?.stages, is: "sworn=ok")
    }

    @Test("Log messages at the last chance carry the names of their own stages")
    func speakers() {
        let said = Mutex<[String]>([])
        let links = ["a", "b"].map { name in
            ChainLink(
                ScriptedStage(
                    name,
                    expire: { _, context in
                        context.log(.warning, "late")
                        return .expired
                    }))
        }
        let chain = Chain(links, log: { _, stage, _, text in said.withLock { $0.append("\(stage): \(text)") } })
        expect(Message().begin(chain, Delivery(), after: .seconds(30)).verdict?.outcome, is: .bestAttempt)
        expect(said.withLock { $0 }, is: ["a: late", "b: late"])
    }
}
