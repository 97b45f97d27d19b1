extension Measurement {
    /// What the life of a message costs without what its stages do: from the record's headers and the payload's gate to
    /// the headers and the value of what is published.
    package static func chain(messages: Int = 20_000) -> [Measurement] {
        var measurements: [Measurement] = []
        for count in [0, 4] {
            let chain = Chain((0..<count).map { ChainLink(IdleStage(name: "idle\($0)")) })
            let turn = ChainTurn(chain)
            measurements.append(
                Measurement("a chain of \(count) stages that do nothing", messages: messages) { turn.run() })
        }
        return measurements
    }
}

private struct IdleStage: ImmediateStage {
    let name: String

    func didReceive(_ content: inout NotificationContent, context: StageContext) -> StageResult { .ok }
}

/// One message with the headers that are usual, over and over.
package final class ChainTurn {
    private let chain: Chain
    private let count: Int32?
    private let delivery = Delivery()
    private let lent = InputRecord()

    /// The recipient's count is always the same one.
    package init(_ chain: Chain, payload: String = PayloadSample.json, count: Int32? = nil) {
        self.chain = chain
        self.count = count
        var envelope = RecordEnvelope()
        envelope.offset = 123_456
        envelope.timestamp = 1_700_000_000_000
        envelope.key = Array("user-48213".utf8)
        envelope.payload = Array(payload.utf8)
        let headers: KeyValuePairs = [
            "locale": "pt-BR", "apns-topic": "com.example.messenger", "apns-push-type": "alert", "apns-priority": "10",
            "apns-expiration": "1800000000", "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ]
        envelope.headers = headers.map { RecordEnvelope.Header(name: Array($0.utf8), value: Array($1.utf8)) }
        lent.fill(envelope, topic: SourceTopic("push.events"))
    }

    var results: [StageResult] { delivery.results }

    /// No stage may have to wait.
    package func run() {
        delivery.clear()
        delivery.record.fill(
            lent.source, timestamp: lent.timestamp, key: lent.key, value: lent.value, headers: lent.headers.count
        ) { lent.headers[$0] }
        let now = Instant(nanoseconds: 1)
        let step = chain.begin(delivery, taken: now, now: now, wallClock: lent.timestamp, count: count)
        guard case .ended = step else { preconditionFailure("the sample waits in a stage") }
    }
}
