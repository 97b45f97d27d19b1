import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("Checks after the chain")
struct CheckTests {
    /// A payload of exactly this many bytes, nearly all of them in a member that is not shown.
    private func payload(bytes: Int, badge: Int? = nil) -> String {
        let badge = badge.map { #","badge":\#($0)"# } ?? ""
        let frame = #"{"aps":{"alert":{"body":"Hello"},"mutable-content":1\#(badge)},"x":""}"#
        return frame.replacing(#""x":""#, with: #""x":""# + String(repeating: "x", count: bytes - frame.utf8.count))
    }

    private func chain(body: String?) -> Chain {
        let setting = ScriptedStage("s", isImmediate: true) { content, _ in
            content.body = body
            return .ok
        }
        return Chain([ChainLink(setting)])
    }

    @Test("If the stages leave no alert text, the original is published", arguments: [nil, ""])
    func noText(_ body: String?) async {
        let published = await Message().publish(chain(body: body))
        expect(published?.outcome, is: .original)
        expect(published?.value, is: Message.text)
        expect(published?.stages, is: "s=ok")
    }

    @Test("A payload that a stage puts in place of the input's is published", arguments: [true, false])
    func replaced(isImmediate: Bool) async {
        func chain(_ payload: String) -> Chain {
            let replacing = ScriptedStage("r", isImmediate: isImmediate) { content, _ in
                content = try NotificationContent(payload)
                return .ok
            }
            return Chain([ChainLink(replacing), ChainLink(ScriptedCounter())])
        }
        let other = #"{"aps":{"alert":"Other","mutable-content":1}}"#
        let event: KeyValuePairs = ["content-type": "application/cloudevents+json"]
        let published = await Message().publish(chain(other), count: 5)
        expect(published?.outcome, is: .modified)
        expect(published?.value, is: other)
        // If the new payload shows no text, the original is published, with the badge that was counted.
        let silent = #"{"aps":{"badge":2}}"#
        for message in [Message(), Message(#"{"id":"e","data":\#(Message.text)}"#, event)] {
            let original = await message.publish(chain(silent), count: 5)
            expect(original?.outcome, is: .original)
            expect(original?.value, is: Message.text.replacing(":1}", with: #":1,"badge":7}"#))
            expect(original?.badgeOperation, is: .add(2))
        }
    }

    @Test("A text that is too long is shortened to the limit", arguments: [("alert", 4096), ("voip", 5120)])
    func shortened(_ type: String, _ limit: Int) async {
        let body = String(repeating: "é", count: 3000)
        let published = await Message(Message.text, ["apns-push-type": type]).publish(chain(body: body))
        expect(published?.outcome, is: .modified)
        #expect(published?.value?.utf8.count == limit || published?.value?.utf8.count == limit - 1)
        expect(published?.value?.contains("é…\""), is: true)
    }

    @Test("If no text is long enough to shorten, the original is published")
    func tooLargeToShorten() async {
        let growing = ScriptedStage("g", isImmediate: true) { content, _ in
            guard let pointer = JSONPointer("/y") else { return .skipped }
            content.set(String(repeating: "y", count: 4000), at: pointer)
            return .ok
        }
        let payload = payload(bytes: 3000)
        let published = await Message(payload).publish(Chain([ChainLink(growing)]))
        expect(published?.outcome, is: .original)
        expect(published?.value, is: payload)
    }

    @Test(
        "A message that arrives too large is a dead letter, whether the chain applies or not",
        arguments: [("", 4096, false), ("", 4097, true), ("voip", 5120, false), ("voip", 5121, true)])
    func tooLarge(_ type: String, _ bytes: Int, _ isDead: Bool) async {
        let headers: KeyValuePairs = ["apns-push-type": type]
        let gated = await Message(payload(bytes: bytes), headers).publish(chain(body: ""))
        expect(gated?.outcome, is: (isDead ? .deadLetter : .original))
        let silent = payload(bytes: bytes).replacing(":1}", with: ":0}")
        let passed = await Message(silent, headers).publish(chain(body: ""))
        expect(passed?.outcome, is: (isDead ? .deadLetter : .passed))
        expect(passed?.value, is: silent)
    }

    @Test(
        "An original that its counted badge would make too large is published without a badge",
        arguments: [("", 4096), ("voip", 5120)])
    func badgeTooLong(_ type: String, _ limit: Int) async {
        let payload = payload(bytes: limit, badge: 1)
        let emptying = ScriptedStage("e", isImmediate: true) { content, _ in
            content.body = nil
            return .ok
        }
        let chain = Chain([ChainLink(emptying), ChainLink(ScriptedCounter())])
        let message = Message(payload, ["apns-push-type": type])
        let published = await message.publish(chain, count: 9)
        expect(published?.outcome, is: .original)
        expect(published?.value, is: payload.replacing(#","badge":1"#, with: ""))
        expect(published?.badgeOperation, is: .add(1))
        // A badge of one digit does not make the payload longer.
        let fitting = await message.publish(chain, count: 8)
        expect(fitting?.outcome, is: .original)
        expect(fitting?.value, is: payload.replacing(#""badge":1"#, with: #""badge":9"#))
    }

    @Test("A message that arrives too large is a dead letter even if it would fit without its badge")
    func tooLargeWithBadge() async {
        let payload = payload(bytes: 4097, badge: 1)
        let emptying = ScriptedStage("e", isImmediate: true) { content, _ in
            content.body = nil
            return .ok
        }
        let chain = Chain([ChainLink(emptying), ChainLink(ScriptedCounter())])
        let event = #"{"id":"e","data":\#(payload)}"#
        let none: KeyValuePairs<String, String> = [:]
        let type: KeyValuePairs<String, String> = ["content-type": "application/cloudevents+json"]
        for (value, headers) in [(payload, none), (event, type)] {
            let published = await Message(value, headers).publish(chain, count: 9)
            expect(published?.reason, is: .tooLarge)
            expect(published?.value, is: value)
            #expect(published?.badgeOperation == nil)
        }
    }
}
