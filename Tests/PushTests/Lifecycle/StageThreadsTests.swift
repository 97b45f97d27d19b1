import Dispatch
import Glibc
import PushmillPayload
import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillStages

@Suite("Stage threads")
struct StageThreadsTests {
    private func chain(_ receive: @escaping ScriptedStage.Receive) -> Chain {
        Chain([ChainLink(ScriptedStage("s", receive: receive))])
    }

    private func start(_ count: Int, _ chain: Chain, on pool: StagePool) -> [Delivery] {
        (0..<count).map { number in
            let delivery = Delivery()
            delivery.tag = number
            if let work = Message().begin(chain, delivery).work { pool.start(work) }
            return delivery
        }
    }

    @Test("Stages that block their threads do not hold up other stages")
    func blocking() async {
        let threads = StageThreads(usual: 2, limit: 128)
        let release = DispatchSemaphore(value: 0)
        let (ends, end) = AsyncStream<Int>.makeStream()
        let blocked = StagePool(on: threads) { _ in end.yield(0) }
        let others = StagePool(on: threads) { _ in end.yield(1) }
        let blocking = start(
            40,
            chain { _, _ in
                release.block()
                return .ok
            }, on: blocked)
        let quick = start(100, chain { _, _ in .ok }, on: others)
        var iterator = ends.makeAsyncIterator()
        for _ in quick { await expect(iterator.next(), is: 1) }
        #expect(threads.count >= 40)
        for _ in blocking { release.signal() }
        for _ in blocking { await expect(iterator.next(), is: 0) }
    }

    @Test("There are never more threads than the limit; waiting stages run when one is free")
    func limit() async {
        let threads = StageThreads(usual: 1, limit: 3)
        let release = DispatchSemaphore(value: 0)
        let running = Atomic(0)
        let most = Atomic(0)
        let (ends, end) = AsyncStream<Int>.makeStream()
        let pool = StagePool(on: threads) { end.yield($0) }
        let deliveries = start(
            10,
            chain { _, _ in
                let now = running.add(1, ordering: .sequentiallyConsistent).newValue
                most.max(now, ordering: .sequentiallyConsistent)
                release.block()
                running.subtract(1, ordering: .sequentiallyConsistent)
                return .ok
            }, on: pool)
        while running.load(ordering: .sequentiallyConsistent) < 3 { await Task.yield() }
        for _ in deliveries { release.signal() }
        var iterator = ends.makeAsyncIterator()
        for _ in deliveries { #expect(await iterator.next() != nil) }
        expect(most.load(ordering: .sequentiallyConsistent), is: 3)
        expect(threads.count, is: 3)
    }

    @Test("If there is no thread, one is started for waiting stages", .timeLimit(.minutes(1)))
    func none() async {
        let threads = StageThreads(usual: 0, limit: 1)
        let (ends, end) = AsyncStream<Int>.makeStream()
        let pool = StagePool(on: threads) { end.yield($0) }
        let deliveries = start(2, chain { _, _ in .ok }, on: pool)
        var iterator = ends.makeAsyncIterator()
        for _ in deliveries { #expect(await iterator.next() != nil) }
        expect(threads.count, is: 1)
    }

    @Test("A thousand suspended stages hold no thread")
    func suspending() async {
        let threads = StageThreads(usual: 2, limit: 2)
        let gate = Gate()
        let (begins, begin) = AsyncStream<Void>.makeStream()
        let (ends, end) = AsyncStream<Int>.makeStream()
        let pool = StagePool(on: threads) { end.yield($0) }
        let deliveries = start(
            1000,
            chain { _, _ in
                begin.yield()
                await gate.wait()
                return .ok
            }, on: pool)
        // All of them are in flight at once, on two threads.
        var begun = begins.makeAsyncIterator()
        for _ in deliveries { #expect(await begun.next() != nil) }
        gate.open()
        var iterator = ends.makeAsyncIterator()
        for _ in deliveries { #expect(await iterator.next() != nil) }
    }

    @Test("A message leaves at its deadline without waiting for a stage that blocks its thread")
    func deadline() async throws {
        let release = DispatchSemaphore(value: 0)
        let (begins, begin) = AsyncStream<Void>.makeStream()
        let chain = chain { content, _ in
            content.body = "too late"
            begin.yield()
            release.block()
            return .ok
        }
        let delivery = Delivery()
        let work = try #require(Message().begin(chain, delivery).work)
        StagePool(on: StageThreads(usual: 1, limit: 1)) { _ in Issue.record("its end was posted") }.start(work)
        var iterator = begins.makeAsyncIterator()
        await iterator.next()
        let verdict = try #require(chain.wakeUp(delivery, now: delivery.deadline).verdict)
        expect(Published(verdict, delivery).value, is: Message.text)
        release.signal()
    }

    @Test("A stage without a thread by its deadline never begins and keeps nothing of its message")
    func neverBegun() async throws {
        let chain = chain { _, _ in
            Issue.record("it has begun")
            return .ok
        }
        let delivery = Delivery()
        let work = try #require(Message().begin(chain, delivery).work)
        let record = ObjectIdentifier(delivery.record)
        _ = chain.wakeUp(delivery, now: delivery.deadline)
        // The delivery reuses its record unless something else holds it.
        delivery.clear()
        expect(ObjectIdentifier(delivery.record), is: record)
        #expect(await !work.run())
    }

    @Test("Idle threads end, and new ones start when there is more work", .timeLimit(.minutes(1)))
    func idle() async {
        weak var held: StageThreads?
        do {
            let threads = StageThreads(usual: 2, limit: 2, idleTime: .milliseconds(1))
            held = threads
            let (ends, end) = AsyncStream<Int>.makeStream()
            let pool = StagePool(on: threads) { end.yield($0) }
            var iterator = ends.makeAsyncIterator()
            for _ in 0..<3 {
                let deliveries = start(1, chain { _, _ in .ok }, on: pool)
                for _ in deliveries { #expect(await iterator.next() != nil) }
                while threads.count > 0, !Task.isCancelled { await Task.yield() }
            }
        }
        // Each thread keeps the `StageThreads` alive until it ends.
        while held != nil, !Task.isCancelled { await Task.yield() }
        #expect(held == nil)
    }
}

extension DispatchSemaphore {
    /// Blocks the thread, even in a task.
    fileprivate func block() { wait() }
}
