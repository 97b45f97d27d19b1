import Glibc
import Testing

@testable import Push

@Suite("Mutated input through chain and encoder")
struct MutatedRecordTests {
    /// How many: PUSHMILL_TEST_MUTATIONS, else what takes a second or two.
    private static let mutations = getenv("PUSHMILL_TEST_MUTATIONS").flatMap { Int(String(cString: $0)) } ?? 20_000

    private static let payloads = [
        #"{"aps":{"alert":{"title":"T","body":"Hello"},"mutable-content":1,"badge":1,"category":"A"},"x":[1e2,{"y":"\ud83d"}]}"#,
        #"{"aps":{"alert":"Hello","mutable-content":1.0,"badge":-0},"aps":{"alert":"Again","mutable-content":1}}"#,
        #"{"aps":{"alert":{"loc-key":"K","loc-args":["a",1]},"mutable-content":1}}"#, #"{"aps":{"badge":0}}"#,
        #"{"specversion":"1.0","id":"e","data":{"aps":{"alert":"Hi","mutable-content":1}},"datacontenttype":"a/b"}"#,
        #"{"id":"e","data_base64":"eyJhcHMiOnsiYWxlcnQiOiJIaSIsIm11dGFibGUtY29udGVudCI6MX19"}"#,
    ]

    private static let headers = [
        ("content-type", "application/cloudevents+json"), ("apns-expiration", "1699999999"), ("apns-push-type", "voip"),
        ("apns-collapse-id", String(repeating: "c", count: 70)), ("apns-id", ""), ("pushmill-outcome", "x"),
        ("pushmill-attempt", "9223372036854775807"), ("locale", "de"), ("apns-topic", "com.x"), ("recipient", "bert"),
    ]

    private static func chain(_ time: ManualTime) -> Chain {
        let long = ScriptedStage(
            "long", isImmediate: true,
            receive: { content, _ in
                content.title = String(repeating: content.body ?? "é", count: 300)
                return .ok
            },
            expire: { content, _ in
                content.body = nil
                return .expired
            })
        return Chain(
            [
                ChainLink(ScriptedStage.marking("a", isImmediate: false)), ChainLink(long),
                ChainLink(ScriptedCounter()),
            ], time: .manual(time))
    }

    @Test("Every record ends in an outcome, with a value that can be read, and its envelope comes back")
    func mutated() async throws {
        var generator = SeededGenerator(seed: 20_241)
        let time = ManualTime()
        let chain = Self.chain(time)
        let host = TestHost(count: 3)
        let delivery = Delivery(host: host)
        var outcomes: Set<Outcome> = []
        for _ in 0..<Self.mutations {
            let message = Self.message(&generator)
            let wait: Duration = generator.chance(10) ? .seconds(30) : .zero
            var verdict: Verdict?
            switch message.begin(chain, delivery, after: wait) {
            case .ended(let ended): verdict = ended
            case .run: verdict = await chain.run(delivery)
            case .notYet: break
            }
            let published = Published(try #require(verdict), delivery)
            outcomes.insert(published.outcome)
            try Self.check(published, message)
        }
        #expect(outcomes == Set(Outcome.allCases))
    }

    private static func message(_ generator: inout SeededGenerator) -> Message {
        var message = Message(nil, key: generator.chance(90) ? "anna" : nil)
        var payload = Array(generator.pick(payloads).utf8)
        if generator.chance(70) { generator.mutate(&payload) }
        message.envelope.payload = generator.chance(2) ? nil : payload
        for (name, value) in headers where generator.chance(20) {
            var value = Array(value.utf8)
            var name = Array(name.utf8)
            if generator.chance(20) { generator.mutate(&value) }
            if generator.chance(5) { generator.mutate(&name) }
            message.envelope.headers.append(RecordEnvelope.Header(name: name, value: generator.chance(5) ? nil : value))
        }
        return message
    }

    private static func check(_ published: Published, _ message: Message) throws {
        var line: [UInt8] = []
        published.envelope.append(to: &line)
        #expect(try RecordEnvelope(line: line) == published.envelope)
        #expect(published["pushmill-outcome"] == "\(published.outcome.name)")
        guard published.outcome != .deadLetter else {
            #expect(published.envelope.payload == message.envelope.payload)
            return
        }
        var content = NotificationContent()
        try published.envelope.payload?.withUnsafeBytes { try content.read($0) }
        #expect(content.renderedByteCount <= 5120)
        if published.outcome == .modified || published.outcome == .bestAttempt { #expect(content.hasAlertText) }
    }
}
