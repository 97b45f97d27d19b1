import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

/// A delivery serves one message after another: nothing of one may leak into the next.
@Suite("Reused deliveries")
struct ReuseTests {
    private static let large = String(repeating: "x", count: 5000)
    private static let event: KeyValuePairs = ["content-type": "application/cloudevents+json"]

    /// Messages of different kinds, each with something that the others must not get.
    private static let messages = [
        Message(),
        Message(
            #"{"aps":{"alert":"Hi","mutable-content":1,"badge":2}}"#,
            ["pushmill-outcome": "x", "pushmill-source": "x", "pushmill-stages": "x", "apns-id": "", "locale": "de"]),
        Message(#"{"aps":{"badge":0}}"#, ["apns-id": "given", "ce_id": "own", "content-type": "text/plain"]),
        Message(#"{"id":"1","data":{"aps":{"alert":"Hi","mutable-content":1}},"datacontenttype":"x"}"#, event),
        Message(#"{"id":"2","data":{"aps":{}}}"#, event),
        Message(#"{"aps":{"alert":"\#(large)","mutable-content":1}}"#, ["apns-push-type": "voip"]),
        Message(#"{"aps":{"alert":"\#(large)","mutable-content":1}}"#),
        Message(#"{"aps":{},"x":"\#(large.dropLast(500))"}"#, ["apns-push-type": "voip"]),
        Message(#"{"aps":{},"x":"\#(large.dropLast(500))"}"#),
        Message(#"{"aps":{"alert":"Hi","mutable-content":1,"badge":2}}"#, ["apns-expiration": "1"]),
        Message(#"{"aps":{"alert":"Hi","mutable-content":1,"badge":2}}"#, ["pushmill-counted": "true"]),
        Message(nil, ["pushmill-attempt": "3"], key: nil),
        Message("{"), Message(#"{"aps":{"alert":"Hi","mutable-content":1,"badge":2}}"#, key: nil),
    ]

    private let chain = Chain([
        ChainLink(ScriptedStage.marking("a"), condition: StageCondition(member: JSONPointer("/aps/badge"))),
        ChainLink(BadgeStage(mode: .increment)),
        ChainLink(ScriptedStage.marking("w", isImmediate: false)),
    ])

    @Test("A message has the same result in a reused delivery as alone")
    func pairs() async {
        let delivery = Delivery()
        for earlier in Self.messages {
            for (number, message) in Self.messages.enumerated() {
                let alone = await message.publish(chain, count: 5)
                for wait in [Duration.zero, .seconds(30)] {
                    _ = await chain.finish(earlier.begin(chain, delivery, count: 9, after: wait), delivery)
                    let verdict = await chain.finish(message.begin(chain, delivery, count: 5), delivery)
                    let published = verdict.map { Published($0, delivery) }
                    expect(published, is: alone, "number \(number)")
                }
            }
        }
    }

    @Test("Clearing frees the memory of a large event's data and of the headers from its attributes")
    func large() async {
        let delivery = Delivery()
        let large = String(repeating: "x", count: 100_000)
        for members in [
            #""a":"\#(large)","data":{"aps":{}}"#,
            #""data":{"aps":{"alert":"Hi","mutable-content":1},"x":"\#(large)"}"#,
        ] {
            let step = Message("{\(members)}", Self.event).begin(chain, delivery)
            #expect(await chain.finish(step, delivery) != nil)
            #expect(delivery.isLarge)
            delivery.clear()
            let isLarge = delivery.output.isLarge
            #expect(!isLarge)
            #expect(delivery.event.map(\.isLarge) != true)
        }
    }

    @Test("A delivery can be reused with chains of different lengths")
    func chains() async {
        let delivery = Delivery()
        for names in [["a"], ["a", "b", "c"], [], ["a", "b"]] {
            let chain = Chain(names.map { ChainLink(ScriptedStage.marking($0)) })
            let step = Message().begin(chain, delivery)
            expect(step.verdict?.outcome, is: .modified)
            expect(delivery.results, is: names.map { _ in .ok })
            expect(delivery.times, is: names.map { _ in 0 })
            #expect(delivery.isAllOkay)
        }
    }

    @Test("A badge operation is reported only for a message that was not counted before")
    func counted() async {
        let payload = #"{"aps":{"alert":"Hi","mutable-content":1,"badge":2}}"#
        let delivery = Delivery()
        for isCounted in [true, false, true] {
            delivery.clear()
            delivery.record.fill(Message(payload).envelope, topic: SourceTopic("push.events"))
            let step = chain.begin(
                delivery, taken: .past, now: .past, wallClock: 0, count: 5, isCounted: isCounted)
            let published = await chain.finish(step, delivery).map { Published($0, delivery) }
            expect(published?.badgeOperation, is: (isCounted ? nil : .add(2)))
            expect(published?.value?.contains(#""badge":\#(isCounted ? 5 : 7)"#), is: true)
        }
    }
}
