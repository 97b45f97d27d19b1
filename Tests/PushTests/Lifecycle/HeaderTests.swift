import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("Headers of published messages")
struct HeaderTests {
    private let chain = Chain([ChainLink(ScriptedStage.marking("a", isImmediate: false))])

    @Test("The input's headers are forwarded in order; ours follow and replace any on the input")
    func forwarded() async {
        let message = Message(
            Message.text,
            [
                "traceparent": "00-1", "pushmill-outcome": "forged", "x": "1", "pushmill-source": "x/1/2", "x": "2",
                "pushmill-stages": "a=forged", "pushmill-outcome": "again", "apns-id": "given",
            ])
        let published = await message.publish(chain)
        let headers = published?.envelope.headers.map { header in
            String(decoding: header.name, as: UTF8.self) + "=" + String(decoding: header.value ?? [], as: UTF8.self)
        }
        expect(
            headers,
            is: [
                "traceparent=00-1", "x=1", "x=2", "apns-id=given", "pushmill-outcome=modified",
                "pushmill-source=push.events/3/42", "pushmill-stages=a=ok",
            ])
        expect(published?.envelope.key, is: Array("anna".utf8))
        expect(published?.envelope.timestamp, is: message.envelope.timestamp)
    }

    @Test("A header without a value, or without a name, is forwarded as it is")
    func withoutValue() async {
        var message = Message()
        message.envelope.headers = [
            RecordEnvelope.Header(name: Array("x".utf8), value: nil),
            RecordEnvelope.Header(name: [], value: [0xFF, 0]),
            RecordEnvelope.Header(name: Array("apns-id".utf8), value: nil),
        ]
        let published = await message.publish(chain)
        expect(published?.envelope.headers.prefix(2), is: message.envelope.headers.prefix(2))
        expect(published?["apns-id"]?.utf8.count, is: 36)
    }

    @Test("A derived apns-id is a UUID, the same for a repeat and different for each coordinate")
    func derivedIdentifier() async throws {
        var seen: Set<String> = []
        for topic in ["push.events", "push.others"] {
            for partition: Int32 in [0, 1, .max] {
                for offset: Int64 in [0, 1, 2, 1 << 40, 1 << 40 + 1, .max] {
                    var message = Message()
                    message.envelope.topic = topic
                    message.envelope.partition = partition
                    message.envelope.offset = offset
                    let identifier = try #require(await message.publish(chain)?["apns-id"])
                    #expect(
                        identifier.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/)
                            != nil)
                    await expect(message.publish(chain)?["apns-id"], is: identifier)
                    #expect(seen.insert(identifier).inserted)
                }
            }
        }
        // A fixed value: the next release must derive the same identifier for a repeat.
        await expect(Message().publish(chain)?["apns-id"], is: "0f3bdfcc-c0fe-87b0-b23c-189bb9b0c6ef")
    }

    @Test(
        "An apns-collapse-id over 64 bytes is replaced by its hash",
        arguments: [
            (String(repeating: "c", count: 64), String(repeating: "c", count: 64)),
            (String(repeating: "c", count: 65), "b30855e510446ac34706c5acafeedefd5122fe9446b3f812db11e1ac3b4d0cf2"),
            ("", ""),
        ])
    func collapseIdentifier(_ given: String, _ expected: String) async {
        await expect(
            Message(Message.text, ["apns-collapse-id": given]).publish(chain)?["apns-collapse-id"], is: expected)
    }

    @Test("If one of several is too long, the last takes the place of all: readers may take the first")
    func collapseIdentifiers() async {
        let long = String(repeating: "c", count: 65)
        for (first, last, expected) in [
            (long, "short", "short"), ("a", "b", "a,b"),
            ("short", long, "b30855e510446ac34706c5acafeedefd5122fe9446b3f812db11e1ac3b4d0cf2"),
        ] {
            let message = Message(Message.text, ["apns-collapse-id": first, "apns-collapse-id": last])
            await expect(message.publish(chain)?["apns-collapse-id"], is: expected)
        }
    }

    @Test("A passed message gets our headers too")
    func passed() async {
        let published = await Message(#"{"aps":{}}"#, ["pushmill-outcome": "forged"]).publish(chain)
        expect(published?["pushmill-outcome"], is: "passed")
        expect(published?["pushmill-source"], is: "push.events/3/42")
        #expect(published?["apns-id"] != nil)
    }

    @Test("A stage's context gives the record's recipient, locale, headers and source")
    func context() async {
        let asking = ScriptedStage("ask") { content, context in
            content.body = [
                context.recipient, context.locale, context.header("x"), context.header("y"), context.source.description,
            ].map { $0 ?? "nil" }.joined(separator: " ")
            return .ok
        }
        let headers: KeyValuePairs = ["x": "1", "locale": "de", "recipient": "bert", "x": "2"]
        let published = await Message(Message.text, headers).publish(Chain([ChainLink(asking)]))
        expect(published?.value?.contains("bert de 2 nil push.events/3/42"), is: true)
    }
}
