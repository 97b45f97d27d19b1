import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("Counting badges in the chain")
struct CountingTests {
    private let payload = #"{"aps":{"alert":"Hi","mutable-content":1,"badge":2}}"#
    private let counter = ChainLink(ScriptedCounter())

    private func emptying(_ links: ChainLink..., observer: RecordingObserver? = nil) -> Chain {
        let emptying = ScriptedStage("e", isImmediate: true) { content, _ in
            content.body = nil
            return .ok
        }
        return Chain([ChainLink(emptying)] + links, observer: observer)
    }

    @Test("A badge is added to the count from before the message")
    func counted() async {
        let published = await Message(payload).publish(Chain([counter]), count: 5)
        expect(published?.value, is: payload.replacing("2", with: "7"))
        expect(published?.badgeOperation, is: .add(2))
    }

    @Test(
        "An account is a recipient in an app, unless both together are too long for a changelog",
        arguments: [
            ("anna", "app", true), ("anna", nil, true), ("", "app", false), (nil, "app", false),
            (String(repeating: "a", count: 4093), "app", true), (String(repeating: "a", count: 4094), "app", false),
        ] as [(String?, String?, Bool)])
    func account(_ key: String?, _ app: String?, _ isThere: Bool) {
        let delivery = Delivery()
        var message = Message(payload, key: key)
        if let app {
            message.envelope.headers = [RecordEnvelope.Header(name: Array("apns-topic".utf8), value: Array(app.utf8))]
        }
        delivery.record.fill(message.envelope, topic: SourceTopic("push.events"))
        let account = Chain.account(of: delivery.record)
        expect((account != nil), is: isThere)
        guard let account else { return }
        expect(String(decoding: account.recipient, as: UTF8.self), is: key)
        expect(account.app.map { String(decoding: $0, as: UTF8.self) }, is: app)
    }

    @Test("No count is needed if nothing is counted", arguments: [#"{"aps":{"badge":2}}"#, #"{"aps":{}}"#])
    func notAsked(_ silent: String) async {
        await expect(Message(silent).publish(Chain([counter]), count: nil)?.outcome, is: .passed)
        let uncounted = Chain([ChainLink(ScriptedStage.marking("a"))])
        await expect(Message(payload).publish(uncounted, count: nil)?.outcome, is: .modified)
    }

    @Test("Without a recipient nothing is counted", arguments: [nil, ""])
    func noRecipient(_ key: String?) async {
        let message = Message(payload, key: key)
        await expect(
            message.publish(Chain([counter]), count: 5)?.stages, is: "badge=failed:no-recipient")
    }

    @Test("The original is published with the counted badge, counted once")
    func original() async {
        let published = await Message(payload).publish(emptying(counter), count: 5)
        expect(published?.outcome, is: .original)
        expect(published?.value, is: payload.replacing("2", with: "7"))
        expect(published?.badgeOperation, is: .add(2))
    }

    @Test(
        "The original gets the counted badge whatever result the counting stage reports",
        arguments: [StageResult.word("capped"), .expired])
    func originalReported(result: StageResult) async {
        let counter = ChainLink(ScriptedCounter(result: result))
        let published = await Message(payload).publish(emptying(counter), count: 5)
        expect(published?.outcome, is: .original)
        expect(published?.value, is: payload.replacing("2", with: "7"))
        expect(published?.badgeOperation, is: .add(2))
    }

    @Test(
        "The original gets the counted badge even if another stage removes the badge, before or after",
        arguments: [nil, #"{"aps":{}}"#], [true, false])
    func originalWithoutBadge(_ other: String?, _ isFirst: Bool) async {
        let removing = ChainLink(
            ScriptedStage("r", isImmediate: true) { content, _ in
                content.remove(JSONPointer(member: "aps"))
                if let other { content = try NotificationContent(other) }
                return .ok
            })
        let links = isFirst ? [removing, counter] : [counter, removing]
        let published = await Message(payload).publish(Chain(links), count: 5)
        expect(published?.outcome, is: .original)
        expect(published?.value, is: payload.replacing("2", with: "7"))
        expect(published?.badgeOperation, is: .add(2))
        expect(published?.stages, is: links.map { "\($0.stage.name)=ok" }.joined(separator: ","))
    }

    @Test("The original is published as it came if no badge was counted")
    func originalUncounted() async {
        let text = payload.replacing("2", with: "2.5")
        let published = await Message(text).publish(emptying(counter), count: 5)
        expect(published?.outcome, is: .original)
        expect(published?.value, is: text)
        #expect(published?.badgeOperation == nil)
    }

    @Test("A failure to count is reported only once for an original")
    func originalWithoutRecipient() async {
        let observer = RecordingObserver()
        let published = await Message(payload, key: nil).publish(emptying(counter, observer: observer), count: 5)
        expect(published?.outcome, is: .original)
        expect(published?.value, is: payload)
        expect(observer.events, is: ["0 ok", "1 failed:no-recipient"])
    }

    @Test("A failed stage's operation on the count is undone with its edits", arguments: [true, false])
    func undone(isImmediate: Bool) async {
        let failing = ChainLink(
            ScriptedStage("f", isImmediate: isImmediate) { content, _ in
                content.badge = 9
                content.badgeOperation = .add(9)
                throw StageFailure("no-luck")
            })
        let alone = await Message(payload).publish(Chain([failing]), count: 5)
        #expect(alone?.value == payload && alone?.stages == "f=failed:no-luck")
        #expect(alone?.badgeOperation == nil)
        let behind = await Message(payload).publish(Chain([counter, failing]), count: 5)
        expect(behind?.value, is: payload.replacing("2", with: "7"))
        expect(behind?.badgeOperation, is: .add(2))
    }

    @Test("A payload that a failing stage puts in place of the input's is not published")
    func undonePayload() async {
        func chain(_ first: ChainLink..., isImmediate: Bool) -> Chain {
            let failing = ScriptedStage("f", isImmediate: isImmediate) { content, _ in
                content = try NotificationContent(#"{"aps":{"alert":"Other","mutable-content":1,"badge":9}}"#)
                throw StageFailure("no-luck")
            }
            return Chain(first + [ChainLink(failing)])
        }
        for isImmediate in [true, false] {
            let alone = await Message(payload).publish(chain(isImmediate: isImmediate), count: 5)
            #expect(alone?.value == payload && alone?.stages == "f=failed:no-luck")
            let behind = await Message(payload).publish(chain(counter, isImmediate: isImmediate), count: 5)
            // A stage that runs in place overwrites earlier edits: the badge, an increment, is not shown as a count.
            let value = isImmediate ? payload.replacing(#","badge":2"#, with: "") : payload.replacing("2", with: "7")
            expect(behind?.value, is: value)
            expect(behind?.badgeOperation, is: .add(2))
        }
    }

    @Test(
        "The count stays if a later stage replaces the payload that was counted",
        arguments: [true, false])
    func otherPayload(isImmediate: Bool) async {
        let other = payload.replacing("2", with: "7")
        let replacing = ScriptedStage(
            "r", isImmediate: isImmediate,
            receive: { content, _ in
                content = try NotificationContent(other)
                return .ok
            },
            expire: { content, _ in
                if let payload = try? NotificationContent(other) { content = payload }
                return .expired
            })
        for wait in [Duration.zero, .seconds(30)] {
            let chain = Chain([counter, ChainLink(replacing)])
            let published = await Message(payload).publish(chain, count: 5, after: wait)
            expect(published?.value, is: other)
            expect(published?.badgeOperation, is: .add(2))
        }
    }

    @Test("An operation on the count that a stage sets before it must wait is undone")
    func undoneAtOnce() {
        struct Asking: Stage {
            let name = "asking"
            func didReceive(_ content: inout NotificationContent, context: StageContext) async -> StageResult { .ok }
            func didReceiveAtOnce(_ content: inout NotificationContent, context: StageContext) -> StageResult? {
                content.badgeOperation = .add(9)
                return nil
            }
        }
        let chain = Chain([ChainLink(Asking())])
        let delivery = Delivery()
        #expect(Message(payload).begin(chain, delivery, count: 5).work != nil)
        #expect(delivery.content.badgeOperation == nil)
        chain.abandon(delivery)
    }

    @Test("A message at its last chance is counted too")
    func lastChance() async {
        let published = await Message(payload).publish(
            Chain([counter]), count: 5, after: .seconds(30))
        expect(published?.outcome, is: .bestAttempt)
        expect(published?.badgeOperation, is: .add(2))
    }

    @Test(
        "A clearing push passes untouched and resets the count",
        arguments: [
            (#"{"aps":{"badge":0}}"#, true), (#"{"aps":{"badge":0,"mutable-content":1}}"#, true),
            (#"{"aps":{"badge":0,"alert":""}}"#, true), (#"{"aps":{"badge":0,"alert":"Hi"}}"#, false),
            (#"{"aps":{"badge":1}}"#, false),
        ])
    func clearing(_ payload: String, _ resets: Bool) async {
        let published = await Message(payload).publish(Chain([counter]), count: 5)
        expect(published?.outcome, is: .passed)
        expect(published?.value, is: payload)
        expect(published?.badgeOperation, is: (resets ? .set(0) : nil))
    }

    @Test("A dead letter is not counted")
    func deadLetter() async {
        let large = payload.replacing(#"}}"#, with: #"},"x":"\#(String(repeating: "x", count: 4096))"}"#)
        let published = await Message(large).publish(emptying(counter), count: 5)
        expect(published?.reason, is: .tooLarge)
        #expect(published?.badgeOperation == nil)
        #expect(published?["pushmill-counted"] == nil)
    }
}
