package import PushmillPayload

/// Takes messages through a chain without a shard, one at a time, for the command line, replays and tests. Deadlines
/// and budgets apply.
package actor Rehearsal {
    /// How a message ended.
    package struct Result: Sendable {
        package let verdict: Verdict
        /// What is published, with the coordinates of the input.
        package let output: RecordEnvelope
        package let stages: [StageResult]
    }

    private let chain: Chain
    private var counts: BadgeCounts
    /// The task that waits for a stage: woken when the stage ends, at the limit, and sometimes in vain.
    private var sleeper: CheckedContinuation<Void, Never>?

    package init(_ chain: Chain, counts: BadgeCounts = BadgeCounts()) {
        self.chain = chain
        self.counts = counts
    }

    /// `wallClock`, in milliseconds since 1970, decides whether the message has expired. `taken` is when the message
    /// came from the input, by default now. Must not be called again before it returns.
    package func run(_ envelope: RecordEnvelope, wallClock: Int64, taken: Instant? = nil) async -> Result {
        let delivery = Delivery()
        delivery.isMeasured = chain.observer != nil
        delivery.record.fill(envelope, topic: SourceTopic(envelope.topic))
        let verdict = await run(delivery, wallClock, taken)
        if verdict.destination == .output, let operation = delivery.badgeOperation {
            counts.apply(operation, delivery.record)
        }
        return Result(verdict: verdict, output: RecordEnvelope(output: delivery), stages: delivery.results)
    }

    private func run(_ delivery: Delivery, _ wallClock: Int64, _ taken: Instant?) async -> Verdict {
        let now = chain.time.now
        let count = Chain.account(of: delivery.record).map { _ in counts[delivery.record] }
        var step = chain.begin(delivery, taken: taken ?? now, now: now, wallClock: wallClock, count: count)
        while true {
            switch step {
            case .ended(let verdict): return verdict
            case .suspended(let limit, let work): await wait(until: limit, for: work)
            case .notDue(let limit): await wait(until: limit)
            }
            step = chain.wakeUp(delivery, now: chain.time.now)
        }
    }

    private func wait(until limit: Instant, for work: StageWork? = nil) async {
        let timer = timer(until: limit)
        await withCheckedContinuation { continuation in
            sleeper = continuation
            if let work { StagePool { _ in Task { await self.wake() } }.start(work) }
            // If the limit has passed, nobody advances a manual clock to it.
            if limit <= chain.time.now { wake() }
        }
        timer?.cancel()
    }

    /// Nil if the clock does not advance by itself.
    private func timer(until limit: Instant) -> Task<Void, Never>? {
        guard case .system = chain.time else { return nil }
        let patience = limit.nanoseconds(since: chain.time.now)
        return Task {
            try? await Task.sleep(nanoseconds: patience)
            if !Task.isCancelled { wake() }
        }
    }

    /// Checks the clock again. To be called after a manual clock was advanced.
    package func wake() { sleeper.take()?.resume() }
}
