import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("Sources of a message's texts")
struct ValueSourceTests {
    @Test(
        "A source's description is the text it was read from",
        arguments: ["recipient", "key", "header:locale", "header:é", "header:key", "/from", "/a/0", "/"])
    func forms(_ text: String) throws {
        let source = try #require(ValueSource(text))
        expect(source.description, is: text)
        expect(ValueSource(source.description), is: source)
    }

    @Test(
        "Any other text is not a source",
        arguments: ["", "header:", "header", "Key", "recipients", "from", "/~"])
    func none(_ text: String) { #expect(ValueSource(text) == nil) }

    @Test(
        "A source gives its text, or nothing if that is empty or not a string",
        arguments: [
            ("recipient", "bert"), ("key", "anna"), ("header:x", "2"), ("header:empty", nil), ("header:none", nil),
            ("/from", "f\n"), ("/empty", nil), ("/n", nil), ("/none", nil), ("/aps/alert/body", "Hi"),
        ] as [(String, String?)])
    func bytes(_ text: String, _ expected: String?) throws {
        let payload = #"{"aps":{"alert":"Hi"},"from":"f\n","empty":"","n":1}"#
        let message = Message(payload, ["x": "1", "recipient": "bert", "x": "2", "empty": ""])
        let delivery = Delivery()
        let chain = Chain([])
        _ = message.begin(chain, delivery)
        let context = chain.context(delivery)
        let source = try #require(ValueSource(text))
        let content = try NotificationContent(payload)
        expect(source.withBytes(content, context) { String(decoding: $0, as: UTF8.self) }, is: expected)
        let isOfContent = text.hasPrefix("/")
        expect(source.bytes(context).map { String(decoding: $0, as: UTF8.self) }, is: (isOfContent ? nil : expected))
        expect(source.isOfTheRecord, is: ["recipient", "key"].contains(text))
    }

    @Test("An empty recipient or key counts as absent", arguments: ["recipient", "key"])
    func empty(_ text: String) throws {
        let delivery = Delivery()
        let chain = Chain([])
        _ = Message(key: "").begin(chain, delivery)
        let source = try #require(ValueSource(text))
        #expect(source.withBytes(delivery.content, chain.context(delivery), \.count) == nil)
    }
}
