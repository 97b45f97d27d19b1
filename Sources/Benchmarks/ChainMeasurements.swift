import PushmillCiphers
import PushmillPayload
package import PushmillStages
import PushmillStores

extension Measurement {
    /// The cost of a message apart from the work of its stages: from the record's headers and the payload's gate to the
    /// headers and the value that are published.
    package static func chain(messages: Int = 20_000) -> [Measurement] {
        [0, 4].map { count in
            let turn = ChainTurn(Chain((0..<count).map { ChainLink(IdleStage(name: "idle\($0)")) }))
            return Measurement("a chain of \(count) stages that do nothing", messages: messages) { turn.run() }
        }
    }
}

private struct IdleStage: ImmediateStage {
    let name: String

    func didReceive(_ content: inout NotificationContent, context: StageContext) -> StageResult { .ok }
}

/// Runs one message with the usual headers, over and over, as many together as a shard does.
package final class ChainTurn {
    static let groupSize = 16

    private let chain: Chain
    private let count: Int32?
    @exclusivity(unchecked) private var group = DeliveryGroup()
    /// The last delivery of the group before.
    @exclusivity(unchecked) private var delivery = Delivery()
    private let lent = InputRecord()
    private let headers: [RecordHeader]

    /// `count` is the recipient's count for every run.
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
        // Swift would check a member of another module's class for exclusive access at every use.
        self.headers = lent.headers
    }

    var results: [StageResult] { delivery.results }

    /// Adds a message to the group, which runs once it is full. No stage may need to wait.
    package func run() {
        let now = Instant(nanoseconds: 1)
        group.add(to: chain, taken: now, now: now, wallClock: lent.timestamp, count: count, isCounted: false) {
            $0.record.fill(
                lent.source, timestamp: lent.timestamp, key: lent.key, value: lent.value, headers: headers.count
            ) { headers[$0] }
        }
        guard group.count == Self.groupSize else { return }
        chain.run(&group, now: now)
        for index in 0..<Self.groupSize {
            guard case .ended = group.take(index, inExchangeFor: &delivery) else {
                preconditionFailure("the sample waits in a stage")
            }
        }
        group.removeAll()
    }
}

extension Measurement {
    /// The cost of a message that has work for decrypt, localize, contact and badge: on one thread, and on two at once,
    /// of which the slower counts. Writes into the folder.
    package static func wholeChain(in folder: String, messages: Int = 10_000) async throws -> [Measurement] {
        let sample = try WholeChainSample(try ContactFile(path: ContactSample.write(in: folder)))
        let alone = try sample.measure("the whole chain, one thread", messages)
        async let other = sample.measure("the whole chain, two threads", messages)
        let one = try sample.measure("the whole chain, two threads", messages)
        let two = try await other
        return [alone, one.nanoseconds > two.nanoseconds ? one : two]
    }
}

private struct WholeChainSample: Sendable {
    private let chain: Chain
    private let payload: String

    init(_ book: any ContactBook) throws {
        let sample = try DecryptSample()
        var options = ContactStage.Options()
        options.owner = [.key]
        chain = Chain([
            ChainLink(sample.stage), ChainLink(try LocalizeSample.stage()),
            ChainLink(ContactStage(options, book: book)), ChainLink(BadgeStage(mode: .increment)),
        ])
        payload = try sample.payload(.jwe, "k1", title: "GROUP")
    }

    func measure(_ name: String, _ messages: Int) throws -> Measurement {
        let turn = ChainTurn(chain, payload: payload, count: 41)
        for _ in 0..<ChainTurn.groupSize { turn.run() }
        if let other = turn.results.first(where: { $0 != .ok }) { throw UnexpectedResult(result: other) }
        return Measurement(name, messages: messages) { turn.run() }
    }
}
