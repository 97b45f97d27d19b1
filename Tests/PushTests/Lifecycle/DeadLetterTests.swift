import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("Dead letters")
struct DeadLetterTests {
    private let chain = Chain([])

    @Test("A dead letter's headers say what was wrong and where the record came from")
    func headers() async {
        let published = await Message(#"{"aps":"#).publish(chain)
        let expected = [
            "pushmill-outcome": "dead-letter", "pushmill-source": "push.events/3/42",
            "pushmill.error.reason": "not-json",
            "pushmill.error.message": "not JSON: unexpected end at byte 7", "pushmill.error.stage": "decode",
            "pushmill.error.topic": "push.events", "pushmill.error.partition": "3", "pushmill.error.offset": "42",
            "pushmill.error.attempt": "1",
        ]
        for (name, value) in expected { expect(published?[name], is: value) }
        expect(published?.envelope.headers.count, is: expected.count)
    }

    @Test("A second dead letter replaces the headers of the first")
    func replaced() async throws {
        var message = Message("x", ["traceparent": "00-1", "pushmill-stages": "a=ok", "pushmill.error.reason": "old"])
        let first = try #require(await message.publish(chain))
        message.envelope = first.envelope
        message.envelope.headers.append(RecordEnvelope.Header(name: Array("pushmill-attempt".utf8), value: [0x31]))
        let second = try #require(await message.publish(chain))
        expect(second["pushmill.error.reason"], is: "not-json")
        expect(second["pushmill.error.attempt"], is: "2")
        expect(second["traceparent"], is: "00-1")
        #expect(second["pushmill-stages"] == nil)
        expect(second.envelope.headers.count, is: first.envelope.headers.count + 1)
    }

    @Test(
        "The attempt is one more than the header's number, or 1 without one",
        arguments: [("0", "1"), ("41", "42"), ("x", "1"), ("-5", "1"), ("", "1")])
    func attempt(_ given: String, _ attempt: String) async {
        await expect(Message("x", ["pushmill-attempt": given]).publish(chain)?["pushmill.error.attempt"], is: attempt)
    }

    @Test("A message that failed to publish is a dead letter with the input's value, marked as counted")
    func publishFailed() {
        let chain = Chain([ChainLink(BadgeStage(mode: .increment))])
        let delivery = Delivery()
        expect(Message().begin(chain, delivery).verdict?.outcome, is: .modified)
        let message = String(repeating: "é", count: 600)
        let verdict = chain.deadLetter(delivery, .publishFailed, message: message, counted: true)
        let published = Published(verdict, delivery)
        expect(published.value, is: Message.text)
        expect(published["pushmill-outcome"], is: "dead-letter")
        expect(published["pushmill-counted"], is: "true")
        expect(published["pushmill.error.stage"], is: "publish")
        expect(published["pushmill.error.message"], is: String(repeating: "é", count: 256))
    }

    /// Its badge is to be counted once the chain has a stage that counts.
    @Test("A dead letter of a chain that does not count is not marked as counted")
    func uncounted() {
        let delivery = Delivery()
        expect(Message().begin(chain, delivery).verdict?.outcome, is: .modified)
        let verdict = chain.deadLetter(delivery, .publishFailed, message: "refused", counted: true)
        #expect(Published(verdict, delivery)["pushmill-counted"] == nil)
    }

    @Test(
        "An error message over 512 bytes is cut at the end of a character",
        arguments: [("x", "é", 255), ("", "中", 170), ("xx", "中", 170), ("x", "😀", 127), ("xxxx", "😀", 127)])
    func cut(_ start: String, _ character: String, _ count: Int) {
        let delivery = Delivery()
        expect(Message().begin(chain, delivery).verdict?.outcome, is: .modified)
        let message = start + String(repeating: character, count: 600)
        let verdict = chain.deadLetter(delivery, .publishFailed, message: message)
        let kept = start + String(repeating: character, count: count)
        #expect(kept.utf8.count <= 512 && kept.utf8.count + character.utf8.count > 512)
        expect(Published(verdict, delivery)["pushmill.error.message"], is: kept)
    }

    @Test("A stage's context says whether the badge was counted before", arguments: [true, false])
    func counted(_ wasCounted: Bool) async {
        let asking = ScriptedStage("a") { content, context in
            content.body = "\(context.wasCounted)"
            return .ok
        }
        let message = wasCounted ? Message(Message.text, ["pushmill-counted": "true"]) : Message()
        let published = await message.publish(Chain([ChainLink(asking)]))
        expect(published?.value, is: Message.text.replacing("Hello", with: "\(wasCounted)"))
    }
}
