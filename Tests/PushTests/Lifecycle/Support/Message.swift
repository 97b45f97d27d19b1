@testable import Push

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

    /// Fills the delivery and begins, after so long a wait for its turn.
    func begin(_ chain: Chain, _ delivery: Delivery, after wait: Duration = .zero) -> Chain.Step {
        delivery.clear()
        let taken = chain.time.now
        delivery.record.fill(envelope, topic: SourceTopic(envelope.topic))
        return chain.begin(delivery, taken: taken, now: taken + wait, wallClock: envelope.timestamp)
    }

    /// Goes the whole way, for chains that nothing holds up.
    func publish(
        _ chain: Chain, host: (any DeliveryHost)? = nil, after wait: Duration = .zero
    ) async -> Published? {
        let delivery = Delivery(host: host)
        switch begin(chain, delivery, after: wait) {
        case .ended(let verdict): return Published(verdict, delivery)
        case .notYet: return nil
        case .run: return await chain.run(delivery).map { Published($0, delivery) }
        }
    }
}
