/// Takes messages through a chain without a worker, one after another: for the command line and for replays. Deadlines
/// and budgets are kept; a stage that blocks its thread holds it up.
package actor Rehearsal: DeliveryHost {
    /// How a message ended.
    package struct Result: Sendable {
        package let verdict: Verdict
        /// What is published, under the coordinates of the input.
        package let output: RecordEnvelope
        package let stages: [StageResult]
    }

    private let chain: Chain
    private var counts: BadgeCounts
    private var current: Delivery?
    private var waiting: CheckedContinuation<Verdict, Never>?
    private var timer: Task<Void, Never>?

    package init(_ chain: Chain, counts: BadgeCounts = BadgeCounts()) {
        self.chain = chain
        self.counts = counts
    }

    /// `wallClock`, in milliseconds since 1970, decides whether the message has expired. `willRun` sees the content if the
    /// stages are going to run. Not to be called again before it has returned.
    package func run(
        _ envelope: RecordEnvelope, wallClock: Int64, willRun: @Sendable (NotificationContent) -> Void = { _ in }
    ) async -> Result {
        let delivery = Delivery(host: self)
        delivery.record.fill(envelope, topic: SourceTopic(envelope.topic))
        let now = chain.time.now
        let verdict: Verdict
        switch chain.begin(delivery, taken: now, now: now, wallClock: wallClock) {
        case .ended(let ended):
            verdict = ended
        case .run, .notYet:
            if let content = delivery.content { willRun(content) }
            current = delivery
            verdict = await withCheckedContinuation { continuation in
                waiting = continuation
                start(delivery)
            }
        }
        if verdict.destination == .output, let operation = delivery.badgeOperation {
            counts.apply(operation, delivery.record)
        }
        return Result(verdict: verdict, output: RecordEnvelope(output: delivery), stages: delivery.results)
    }

    private func start(_ delivery: Delivery) {
        let task = Task {
            if let verdict = await chain.run(delivery) { end(verdict) }
        }
        delivery.suspended(in: task)
    }

    private func end(_ verdict: Verdict) {
        timer.take()?.cancel()
        current = nil
        waiting.take()?.resume(returning: verdict)
    }

    private func setTimer(_ delivery: Delivery) {
        timer?.cancel()
        let patience = delivery.nextWakeUp.nanoseconds(since: chain.time.now)
        timer = Task {
            try? await Task.sleep(nanoseconds: patience)
            if !Task.isCancelled { wake(delivery) }
        }
    }

    private func wake(_ delivery: Delivery) {
        guard current === delivery else { return }
        switch chain.timer(delivery, now: chain.time.now) {
        case .ended(let verdict): end(verdict)
        case .run: start(delivery)
        case .early: setTimer(delivery)
        case .nothing: break
        }
    }

    // MARK: - As a host

    package nonisolated func count(_ delivery: Delivery) -> Int32? {
        assumeIsolated { $0.counts[delivery.record] }
    }

    package nonisolated func willWait(_ delivery: Delivery) {
        assumeIsolated { $0.setTimer(delivery) }
    }
}
