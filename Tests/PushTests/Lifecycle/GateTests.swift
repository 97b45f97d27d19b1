import PushmillTestSupport
import Testing

@testable import PushmillStages

@Suite("Gate")
struct GateTests {
    private let chain = Chain([ChainLink(ScriptedStage.marking("a"))])

    @Test(
        "The chain applies if an extension may change the alert and it shows text",
        arguments: [
            #"{"aps":{"alert":"Hi","mutable-content":1}}"#,
            #"{"aps":{"alert":{"body":"Hi"},"mutable-content":1}}"#,
            #"{"aps":{"alert":{"title":"Hi"},"mutable-content":1.0}}"#,
            #"{"aps":{"alert":{"subtitle-loc-key":"K"},"mutable-content":1}}"#,
            #"{"aps":{"alert":{"loc-key":"K"},"mutable-content":1}}"#,
        ])
    func applies(_ payload: String) async {
        await expect(Message(payload).publish(chain)?.outcome, is: .modified)
    }

    @Test(
        "Any other notification passes byte for byte",
        arguments: [
            #"{ "aps" : {"content-available":1 , "x":1e2}, "n":12345678901234567890 }"#,
            #"{"aps":{"alert":"Hi"}}"#,
            #"{"aps":{"alert":"Hi","mutable-content":0}}"#,
            #"{"aps":{"alert":"Hi","mutable-content":"1"}}"#,
            #"{"aps":{"alert":"Hi","mutable-content":true}}"#,
            #"{"aps":{"alert":"","mutable-content":1}}"#,
            #"{"aps":{"alert":{},"mutable-content":1}}"#,
            #"{"aps":{"alert":{"body":"","title":5,"launch-image":"a.png"},"mutable-content":1}}"#,
            #"{"aps":{"sound":"default","mutable-content":1}}"#,
            #"{"aps":{}}"#,
        ])
    func passes(_ payload: String) async {
        let published = await Message(payload).publish(chain)
        expect(published?.outcome, is: .passed)
        expect(published?.value, is: payload)
        expect(published?.stages, is: "a=skipped")
    }

    @Test("A chain without stages lists none and changes nothing")
    func emptyChain() async {
        let published = await Message().publish(Chain([]))
        expect(published?.outcome, is: .modified)
        expect(published?.value, is: Message.text)
        expect(published?.stages, is: "")
    }

    private static let deep: String =
        #"{"aps":{},"x":"# + String(repeating: "[", count: 200) + String(repeating: "]", count: 200) + "}"
    private static let large: String = #"{"aps":{"alert":"a"},"x":""# + String(repeating: "y", count: 4096) + #""}"#

    @Test(
        "A record that cannot be a notification is a dead letter with its value as it came",
        arguments: [
            (nil, DeadLetterReason.nullValue), ("", .notJSON), (#"{"aps":"#, .notJSON), (#"{"aps":{},}"#, .notJSON),
            ("[1]", .notObject), ("null", .notObject), (#"{"x":1}"#, .noAps), (#"{"aps":"x"}"#, .noAps),
            (#"{"aps":null}"#, .noAps), (Self.deep, .tooDeep), (Self.large, .tooLarge),
        ])
    func deadLetters(_ payload: String?, _ reason: DeadLetterReason) async {
        let published = await Message(payload, ["x": "y"]).publish(chain)
        expect(published?.outcome, is: .deadLetter)
        expect(published?.destination, is: .deadLetters)
        expect(published?.reason, is: reason)
        expect(published?.value, is: payload)
        expect(published?["pushmill-outcome"], is: "dead-letter")
        expect(published?["pushmill.error.reason"], is: "\(reason.name)")
        expect(published?["x"], is: "y")
    }
}
