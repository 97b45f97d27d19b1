@testable import PushmillPayload
@testable import PushmillStages

/// A record for tests, and its way through a chain.
struct Message {
    static let text = #"{"aps":{"alert":{"body":"Hello"},"mutable-content":1}}"#

    var envelope = RecordEnvelope()

    init(_ payload: String? = Self.text, _ headers: KeyValuePairs<String, String> = [:], key: String? = "anna") {
        envelope.topic = "push.events"
        envelope.partition = 3
        envelope.offset = 42
        envelope.timestamp = 1_700_000_000_000
        envelope.key = key.map { Array($0.utf8) }
        envelope.payload = payload.map { Array($0.utf8) }
        envelope.headers = headers.map { RecordEnvelope.Header(name: Array($0.utf8), value: Array($1.utf8)) }
    }

    /// Fills the delivery and begins, after this long a wait for its turn.
    /// If `wait` is nil, the message is late.
    func begin(
        _ chain: Chain, _ delivery: Delivery, count: Int32? = nil, after wait: Duration? = .zero
    ) -> Chain.Step {
        delivery.clear()
        let taken = chain.time.now
        delivery.record.fill(envelope, topic: SourceTopic(envelope.topic))
        let count = Chain.account(of: delivery.record) == nil ? nil : count
        return chain.begin(
            delivery, taken: wait == nil ? nil : taken, now: taken + (wait ?? .zero), wallClock: envelope.timestamp,
            count: count)
    }

    /// Runs the whole chain. Stages that may wait run in the caller's task, one after another.
    func publish(_ chain: Chain, count: Int32? = nil, after wait: Duration = .zero) async -> Published? {
        let delivery = Delivery()
        return await chain.finish(begin(chain, delivery, count: count, after: wait), delivery)
            .map { Published($0, delivery) }
    }
}

extension Chain {
    /// Runs the remaining stages. Nil if a stage was abandoned.
    func finish(_ step: Step, _ delivery: Delivery) async -> Verdict? {
        var step = step
        while case .suspended(_, let work) = step {
            guard await work.run(), let next = resume(delivery, now: time.now) else { return nil }
            step = next
        }
        return step.verdict
    }
}

extension Chain.Step {
    var verdict: Verdict? {
        if case .ended(let verdict) = self { verdict } else { nil }
    }

    var work: StageWork? {
        if case .suspended(_, let work) = self { work } else { nil }
    }

    /// When the stage's time ends.
    var limit: Instant? {
        switch self {
        case .ended: nil
        case .suspended(let limit, _), .notDue(let limit): limit
        }
    }

    var isNotDue: Bool {
        if case .notDue = self { true } else { false }
    }
}
