import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload
@testable import PushmillStages

@Suite("Targets of a plaintext")
struct DecryptFieldTests {
    private typealias Field = DecryptOptions.Field

    private func fixture(
        _ fields: [(from: String, to: String)], isRequired: Bool = false, members: [String] = Field.standardMembers,
        hasEntities: Bool = false
    ) throws -> DecryptFixture {
        try DecryptFixture(keys: DecryptKeys.text) { options in
            options.isRequired = isRequired
            options.fields = fields.compactMap { from, to in
                guard let from = JSONPointer(from) else { return nil }
                guard let target = JSONPointer(to) else {
                    return Field(from: from, to: .merge, members: members, hasEntities: hasEntities)
                }
                return Field(from: from, to: .member(target), hasEntities: hasEntities)
            }
        }
    }

    private func publish(
        _ members: KeyValuePairs<String, String>, alert: String = #"{"title":"T","body":"?"}"#,
        _ fixture: DecryptFixture
    ) async throws -> (stages: String?, payload: String?) {
        let members = members.map { ",\"\($0)\":\"\($1)\"" }.joined()
        let message = Message(#"{"aps":{"alert":\#(alert),"mutable-content":1}\#(members)}"#)
        let published = await message.publish(fixture.chain)
        return (published?.stages, published?.value)
    }

    private func merged(
        _ plaintext: String, _ members: [String] = Field.standardMembers
    ) async throws -> (stages: String?, payload: String?) {
        try await publish(
            ["e": try DecryptKeys.direct(content: Array(plaintext.utf8))],
            try fixture([("/e", "merge")], members: members))
    }

    @Test("Each of several fields is decrypted into its own target")
    func several() async throws {
        let fixture = try fixture([("/a", "/aps/alert/title"), ("/b", "/aps/alert/body"), ("/c", "/chat/room")])
        let result = try await publish(
            [
                "a": try DecryptKeys.seal("A", .jwe, "k1"), "b": try DecryptKeys.seal("B\n", .openSSL, "pw"),
                "c": try DecryptKeys.seal("C", .jwe, "ec"),
            ], fixture)
        expect(result.stages, is: "decrypt=ok")
        expect(
            result.payload, is: #"{"aps":{"alert":{"title":"A","body":"B\n"},"mutable-content":1},"chat":{"room":"C"}}"#
        )
    }

    @Test("A failed field shows the placeholder in its target, and the others stay decrypted")
    func partly() async throws {
        let fixture = try fixture([("/a", "/aps/alert/title"), ("/b", "/aps/alert/body"), ("/c", "/room")])
        let body = try DecryptKeys.seal("B", .jwe, "k1")
        var result = try await publish(["a": "bad!", "b": body], fixture)
        expect(result.stages, is: "decrypt=failed:malformed")
        expect(
            result.payload, is: #"{"aps":{"alert":{"title":"(Encrypted)","body":"B"},"mutable-content":1},"a":"bad!"}"#)
        result = try await publish(["b": body, "c": "bad!"], fixture)
        expect(result.payload, is: #"{"aps":{"alert":{"title":"T","body":"B"},"mutable-content":1},"c":"bad!"}"#)
        result = try await publish(["c": "bad!"], fixture)
        expect(
            result.payload, is: #"{"aps":{"alert":{"title":"T","body":"(Encrypted)"},"mutable-content":1},"c":"bad!"}"#)
    }

    @Test("A merged body stays if another field fails or is absent")
    func mergedPartly() async throws {
        let merged = try DecryptKeys.direct(content: Array(#"{"body":"B"}"#.utf8))
        let shown = #"{"aps":{"alert":{"title":"T","body":"B"},"mutable-content":1}"#
        var result = try await publish(["e": merged, "c": "bad!"], try fixture([("/e", "merge"), ("/c", "/room")]))
        expect(result.payload, is: shown + #","c":"bad!"}"#)
        result = try await publish(["e": merged], try fixture([("/e", "merge"), ("/c", "/room")], isRequired: true))
        expect(result.stages, is: "decrypt=failed:malformed")
        expect(result.payload, is: shown + "}")
        let other = try DecryptKeys.direct(content: Array(#"{"title":"S"}"#.utf8))
        result = try await publish(["e": other, "c": "bad!"], try fixture([("/e", "merge"), ("/c", "/room")]))
        expect(
            result.payload, is: #"{"aps":{"alert":{"title":"S","body":"(Encrypted)"},"mutable-content":1},"c":"bad!"}"#)
    }

    @Test("A decrypted body replaces a string alert, and a loc-key with its arguments")
    func alerts() async throws {
        let fixture = try fixture([("/e", "/aps/alert/body")])
        let text = try DecryptKeys.seal("B", .jwe, "k1")
        try await expect(
            publish(["e": text], alert: #""?""#, fixture).payload, is: #"{"aps":{"alert":"B","mutable-content":1}}"#)
        try await expect(
            publish(["e": text], alert: #"{"loc-key":"K","loc-args":["x"]}"#, fixture).payload,
            is: #"{"aps":{"alert":{"body":"B"},"mutable-content":1}}"#)
    }

    @Test("A ciphertext is decrypted in place")
    func inPlace() async throws {
        let fixture = try fixture([("/aps/alert/body", "/aps/alert/body")])
        let sealed = try DecryptKeys.seal("B", .jwe, "k1")
        let result = try await publish([:], alert: #"{"title":"T","body":"\#(sealed)"}"#, fixture)
        expect(result.payload, is: #"{"aps":{"alert":{"title":"T","body":"B"},"mutable-content":1}}"#)
    }

    @Test(
        "`/aps/alert` and `/aps/alert/body` name the same text of a string alert",
        arguments: [
            ("/aps/alert", "/aps/alert/body", true), ("/aps/alert/body", "/aps/alert", true),
            ("/aps/alert/body", "/aps/alert", false),
        ])
    func inAlert(from: String, to: String, isString: Bool) async throws {
        let sealed = try DecryptKeys.seal("B", .jwe, "k1")
        let alert = isString ? "\"\(sealed)\"" : #"{"title":"T","body":"\#(sealed)"}"#
        let result = try await publish([:], alert: alert, try fixture([(from, to)]))
        expect(result.stages, is: "decrypt=ok")
        expect(result.payload, is: #"{"aps":{"alert":"B","mutable-content":1}}"#)
    }

    @Test("A merged member may replace the ciphertext that it comes from")
    func mergedInPlace() async throws {
        let texts = try DecryptKeys.direct(content: Array(#"{"title":"S","body":"B"}"#.utf8))
        for (from, alert) in [
            ("/aps/alert/body", #"{"title":"T","body":"\#(texts)"}"#), ("/aps/alert/body", "\"\(texts)\""),
            ("/aps/alert", "\"\(texts)\""),
        ] {
            let result = try await publish([:], alert: alert, try fixture([(from, "merge")]))
            expect(result.stages, is: "decrypt=ok")
            let content = try NotificationContent(try #require(result.payload))
            #expect(content.title == "S" && content.body == "B", "\(from) of \(alert)")
        }
        let message = try DecryptKeys.direct(content: Array(#"{"msg":"M"}"#.utf8))
        let result = try await publish(["msg": message], try fixture([("/msg", "merge")], members: ["msg"]))
        expect(result.stages, is: "decrypt=ok")
        expect(
            result.payload, is: #"{"aps":{"alert":{"title":"T","body":"?"},"mutable-content":1},"msg":"M"}"#)
    }

    @Test("A decrypted array element becomes null, and the others keep their positions")
    func elements() async throws {
        func publish(_ elements: [String], _ fixture: DecryptFixture) async -> (stages: String?, payload: String?) {
            let list = elements.map { "\"\($0)\"" }.joined(separator: ",")
            let alert = #"{"title":"T","body":"?"}"#
            let message = Message(#"{"aps":{"alert":\#(alert),"mutable-content":1},"e":[\#(list)]}"#)
            let published = await message.publish(fixture.chain)
            return (published?.stages, published?.value)
        }
        let texts = try ["A", "B", "C"].map { try DecryptKeys.seal($0, .jwe, "k1") }
        let several = try fixture([("/e/0", "/aps/alert/title"), ("/e/1", "/aps/alert/body"), ("/e/2", "/room")])
        var result = await publish(texts, several)
        expect(result.stages, is: "decrypt=ok")
        expect(
            result.payload,
            is: #"{"aps":{"alert":{"title":"A","body":"B"},"mutable-content":1},"e":[null,null,null],"room":"C"}"#)
        result = await publish([texts[0], "bad!", texts[2]], several)
        expect(result.stages, is: "decrypt=failed:malformed")
        expect(
            result.payload,
            is: #"{"aps":{"alert":{"title":"A","body":"(Encrypted)"},"mutable-content":1},"e":[null,"bad!",null],"#
                + #""room":"C"}"#)
        let merged = try DecryptKeys.direct(content: Array(#"{"body":"M"}"#.utf8))
        result = await publish([merged, texts[0]], try fixture([("/e/0", "merge"), ("/e/1", "/aps/alert/title")]))
        expect(result.stages, is: "decrypt=ok")
        expect(
            result.payload, is: #"{"aps":{"alert":{"title":"A","body":"M"},"mutable-content":1},"e":[null,null]}"#)
    }

    @Test("A target below a number fails as malformed")
    func blocked() async throws {
        let fixture = try fixture([("/e", "/aps/mutable-content/x")])
        let result = try await publish(["e": try DecryptKeys.seal("B", .jwe, "k1")], fixture)
        expect(result.stages, is: "decrypt=failed:malformed")
    }

    @Test("A merge decodes escaped names and texts and takes the last of duplicate members")
    func merge() async throws {
        let result = try await merged(
            #"{"title":"a\u00e9", "n": [1e2,{"x":null}], "subtitle":"S","n\u0032":3,"n":4}"#,
            ["title", "subtitle", "n", "n2"])
        expect(result.stages, is: "decrypt=ok")
        expect(
            result.payload,
            is: #"{"aps":{"alert":{"title":"aé","body":"?","subtitle":"S"},"mutable-content":1},"n2":3,"n":4}"#)
    }

    @Test(
        "The last of several members with one name counts, even if it is null",
        arguments: [(#"{"title":"A","title":null}"#, "T"), (#"{"title":1,"t\u0069tle":"A"}"#, "A")])
    func repeatedMember(plaintext: String, title: String) async throws {
        let result = try await merged(plaintext)
        expect(result.stages, is: "decrypt=ok")
        expect(result.payload, is: #"{"aps":{"alert":{"title":"\#(title)","body":"?"},"mutable-content":1}}"#)
    }

    @Test("Only an object's listed members are merged, by default only the alert's texts")
    func listed() async throws {
        let plaintext = #"{"access_token":"T0","title":"S","chat":{"id":7},"body":"B","token\u005f":1,"subtitle":"U"}"#
        let standard = try await merged(plaintext)
        expect(standard.stages, is: "decrypt=ok")
        expect(
            standard.payload, is: #"{"aps":{"alert":{"title":"S","body":"B","subtitle":"U"},"mutable-content":1}}"#)
        let named = try await merged(plaintext, ["body", "chat", "token_"])
        expect(
            named.payload,
            is: #"{"aps":{"alert":{"title":"T","body":"B"},"mutable-content":1},"chat":{"id":7},"token_":1}"#)
        // A text that is not listed may have any type.
        try await expect(merged(#"{"title":1,"chat":2}"#, ["chat"]).stages, is: "decrypt=ok")
    }

    @Test("An object of at most 256 members is merged", arguments: [(256, "ok"), (257, "failed:too-large")])
    func mostMembers(count: Int, result: String) async throws {
        let others = (1..<count).map { ",\"m\($0)\":1" }.joined()
        try await expect(merged("{\"title\":\"X\"\(others)}").stages, is: "decrypt=\(result)")
    }

    @Test("A null member of a merged object counts as absent")
    func nullMember() async throws {
        let result = try await merged(#"{"title":null,"body":"B"}"#)
        expect(result.stages, is: "decrypt=ok")
        expect(result.payload, is: #"{"aps":{"alert":{"title":"T","body":"B"},"mutable-content":1}}"#)
    }

    @Test(
        "A plaintext that cannot be merged only puts the placeholder into the body",
        arguments: [
            ("[1]", DecryptFailure.notObject), ("\"x\"", .notObject), ("{", .notObject), ("", .notObject),
            (#"{"body":"B","aps":{}}"#, .protectedMember), (#"{"body":"B","\u0061ps":1}"#, .protectedMember),
            (#"{"body":"B","title":1}"#, .malformed),
            (#"{"title":"X","aps":{}}"#, .protectedMember),
        ])
    func refused(plaintext: String, reason: DecryptFailure) async throws {
        let result = try await merged(plaintext)
        expect(result.stages, is: "decrypt=failed:\(reason.reason)")
        expect(
            result.payload?.hasPrefix(
                #"{"aps":{"alert":{"title":"T","body":"(Encrypted)"},"mutable-content":1},"e":"ey"#), is: true)
    }

    @Test(
        "HTML entities in texts are decoded if the field says so",
        arguments: [
            ("a &amp; b &lt;3 &gt; &quot;q&quot; &apos;&#39;&#x27;&#X27;", "a & b <3 > \"q\" ''''"),
            ("&amp;lt; &amp;#39;", "&lt; &#39;"), ("&#128075;&#x1F44B;&eacute;&euro;&nbsp;", "👋👋&eacute;€\u{A0}"),
            ("& &; &#; &#x; &amp &nope; &#0; &#xD800; &#1114112; &#99999999999; &AMP;", nil), ("&", nil),
            ("&#12a; &#-5; &am&amp;", "&#12a; &#-5; &am&"),
        ] as [(String, String?)])
    func entities(escaped: String, expected: String?) async throws {
        let sealed = try DecryptKeys.direct(content: Array(escaped.utf8))
        let quoted = escaped.replacing("\"", with: "\\\"")
        let object = try DecryptKeys.direct(content: Array(#"{"title":"\#(quoted)","n":"&amp;"}"#.utf8))
        for hasEntities in [true, false] {
            let expected = hasEntities ? expected ?? escaped : escaped
            let fixture = try fixture(
                [("/e", "/aps/alert/body"), ("/o", "merge")], members: ["title", "n"], hasEntities: hasEntities)
            let (stages, payload) = try await publish(["e": sealed, "o": object], fixture)
            let content = try NotificationContent(try #require(payload))
            expect(stages, is: "decrypt=ok")
            expect(content.body, is: expected)
            expect(content.title, is: expected)
            expect(content.string(at: JSONPointer(member: "n")), is: "&amp;")
        }
    }

    @Test("A message without ciphertext is skipped, and fails if one is required")
    func absent() async throws {
        try await expect(publish([:], try fixture([("/e", "merge")])).stages, is: "decrypt=skipped")
        let result = try await publish([:], try fixture([("/e", "merge")], isRequired: true))
        expect(result.stages, is: "decrypt=failed:malformed")
        expect(result.payload, is: #"{"aps":{"alert":{"title":"T","body":"(Encrypted)"},"mutable-content":1}}"#)
    }

    @Test("At the last chance, a message with ciphertext gets a placeholder subtitle and an empty body")
    func expired() throws {
        func edited(_ member: String, isRequired: Bool = false) throws -> String {
            let stage = try fixture([("/e", "merge")], isRequired: isRequired)
            var content = try NotificationContent(
                #"{"aps":{"alert":{"title":"T","body":"?"},"mutable-content":1}\#(member)}"#)
            expect(stage.stage.timeWillExpire(&content, context: stage.context), is: .expired)
            return content.rendered
        }
        let shown = #"{"aps":{"alert":{"title":"T","body":"","subtitle":"(Encrypted)"},"mutable-content":1}"#
        try expect(edited(#","e":"x""#), is: shown + #","e":"x"}"#)
        try expect(edited("", isRequired: true), is: shown + "}")
        try expect(edited(""), is: #"{"aps":{"alert":{"title":"T","body":"?"},"mutable-content":1}}"#)
    }

    @Test("At the last chance, ciphertext in the title itself is removed", arguments: ["title", "body"])
    func expiredInPlace(target: String) throws {
        let stage = try fixture([("/aps/alert/title", "/aps/alert/\(target)")])
        var content = try NotificationContent(#"{"aps":{"alert":{"title":"c2VjcmV0","body":"?"}}}"#)
        expect(stage.stage.timeWillExpire(&content, context: stage.context), is: .expired)
        expect(content.rendered, is: #"{"aps":{"alert":{"body":"","subtitle":"(Encrypted)"}}}"#)
    }

    @Test("Decrypted texts are marked for later stages")
    func marks() async throws {
        let fixture = try fixture([("/e", "/aps/alert/body"), ("/f", "/x/y")])
        var content = try NotificationContent(
            #"{"aps":{"alert":"?"},"e":"\#(try DecryptKeys.direct())","f":"\#(try DecryptKeys.direct())"}"#)
        try await expect(fixture.stage.didReceive(&content, context: fixture.context), is: .ok)
        for pointer in ["/aps/alert/body", "/x/y"] {
            let node = try #require(JSONPointer(pointer).flatMap(content.node(at:)))
            #expect(content.isDecrypted(node), "\(pointer)")
        }
    }

    @Test("A plaintext that was parsed as JSON is overwritten after its message")
    func overwritten() throws {
        var scratch = try DecryptScratch()
        var plaintext = Array(#"{"title":"The harbour at six"}"#.utf8)
        let kept = try plaintext.withUnsafeMutableBytes { text in
            UnsafeBufferPointer(start: try scratch.read(text).bytes, count: text.count)
        }
        #expect(kept.elementsEqual(plaintext))
        scratch.clear()
        #expect(kept.allSatisfy { $0 == 0 })
    }

    @Test("The memory of a large plaintext's index is freed after its message")
    func large() throws {
        var scratch = try DecryptScratch()
        var plaintext = Array("[\(String(repeating: "1,", count: 30_000))1]".utf8)
        let isLarge = try plaintext.withUnsafeMutableBytes { try scratch.read($0).isLarge }
        #expect(isLarge)
        scratch.clear()
        let isStillLarge = scratch.document.isLarge
        #expect(!isStillLarge)
    }
}
