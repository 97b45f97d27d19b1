import PushmillCiphers
import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

/// Contact placeholders in decrypted texts.
struct ContactOriginTests {
    private var chain = ContactChain()

    init() {
        chain.options.includesDecrypted = false
        chain.options.fields = [JSONPointer(member: "from")]
    }

    /// Decrypts rot13, which anyone can read.
    private func decrypt(_ fields: (from: String, to: DecryptOptions.Field.Target)...) throws -> DecryptStage {
        var options = DecryptOptions()
        options.formats = [.rot13]
        options.fields = fields.map {
            DecryptOptions.Field(from: JSONPointer(member: $0.from), to: $0.to, members: ["body", "from"])
        }
        return DecryptStage(options, keys: nil)
    }

    private func published(_ payload: String, after stages: any Stage...) async throws -> Published {
        try #require(await Message(payload).publish(chain(after: stages)))
    }

    @Test("If excluded, placeholders in decrypted text stay, and those in clear text become names")
    func body() async throws {
        let payload = #"{"aps":{"alert":{"title":"{contact:c1}"},"mutable-content":1},"E":"{pbagnpg:p1}"}"#
        let decrypt = try decrypt(("E", .member(JSONPointer(.body))))
        let published = try await published(payload, after: decrypt)
        expect(
            published.value, is: #"{"aps":{"alert":{"title":"Zoë Martin","body":"{contact:c1}"},"mutable-content":1}}"#)
        expect(published.stages, is: "decrypt=ok,contact=ok")
    }

    @Test("If excluded, merged texts and identifier fields stay as they are")
    func merged() async throws {
        let payload = #"{"aps":{"alert":"x","mutable-content":1},"E":"{\"obql\":\"{pbagnpg:p1}\",\"sebz\":\"p1\"}"}"#
        let published = try await published(payload, after: try decrypt(("E", .merge)))
        expect(published.value, is: #"{"aps":{"alert":"{contact:c1}","mutable-content":1},"from":"c1"}"#)
        expect(published.stages, is: "decrypt=ok,contact=skipped")
    }

    @Test("A localized text with a decrypted argument stays as it is")
    func argument() async throws {
        let localize = try CatalogFixture(["en.lproj/Localizable.strings": #""K" = "%@ + %@";"#]).stage()
        func payload(_ arguments: String) -> String {
            #"{"aps":{"alert":{"title-loc-key":"K","title-loc-args":\#(arguments)},"mutable-content":1},"E":"{pbagnpg:p1}"}"#
        }
        let clear = #"["{contact:c1}","x"]"#
        for (arguments, place) in [(clear, "1"), (#"["{contact:c1}"]"#, "-")] {
            let decrypt = try decrypt(("E", .member(try #require(JSONPointer("/aps/alert/title-loc-args/\(place)")))))
            let decrypted = try await published(payload(arguments), after: decrypt, localize)
            expect(decrypted.value?.contains(#""title":"{contact:c1} + {contact:c1}""#), is: true)
        }
        let named = try await published(payload(clear), after: localize)
        expect(named.value?.contains(#""title":"Zoë Martin + x""#), is: true)
    }

    @Test("A localized text in an identifier field is not an identifier; its placeholders become names")
    mutating func localizedField() async throws {
        chain.options.fields = [JSONPointer(.subtitle)]
        let localize = try CatalogFixture(["en.lproj/Localizable.strings": #""K" = "From %@";"#]).stage()
        for (argument, subtitle, result) in [("c1", "From c1", "skipped"), ("{contact:c1}", "From Zoë Martin", "ok")] {
            let payload =
                #"{"aps":{"alert":{"subtitle-loc-key":"K","subtitle-loc-args":["\#(argument)"],"body":"b"},"mutable-content":1}}"#
            let published = try await published(payload, after: localize)
            expect(published.alert, is: #"{"body":"b","subtitle":"\#(subtitle)"}"#)
            expect(published.stages, is: "localize=ok,contact=\(result)")
        }
    }

    @Test("The placeholder for an undecryptable text is not taken as an identifier")
    mutating func placeholder() async throws {
        chain.options.fields = [JSONPointer(.title), JSONPointer(.subtitle)]
        let payload = #"{"aps":{"alert":{"title":"c1"},"mutable-content":1},"E":7}"#
        let decrypt = try decrypt(("E", .member(JSONPointer(.title))))
        let published = try await published(payload, after: decrypt)
        expect(published.value, is: #"{"aps":{"alert":{"title":"(Encrypted)"},"mutable-content":1},"E":7}"#)
        expect(published.stages, is: "decrypt=failed:malformed,contact=skipped")
        let late = await Message(payload).publish(chain(after: [decrypt]), after: .seconds(60))
        expect(late?.value?.contains(#"{"title":"Someone","subtitle":"(Encrypted)","body":""}"#), is: true)
    }

    @Test("Decrypted and localized texts keep their origin when a note is appended")
    mutating func noted() async throws {
        let attachment = AttachmentStage(
            MediaMembers(url: JSONPointer(member: "media-url")), publicBase: "https://media.example.com/",
            source: ListedMedia([:]))
        let decrypted = try await published(
            #"{"aps":{"alert":"x","mutable-content":1},"E":"{pbagnpg:p1}","media-url":"u"}"#,
            after: try decrypt(("E", .member(JSONPointer(.body)))), attachment)
        expect(decrypted.value, is: #"{"aps":{"alert":"{contact:c1} 📷","mutable-content":1},"media-url":"u"}"#)
        chain.options.fields = [JSONPointer(.subtitle)]
        let localize = try CatalogFixture(["en.lproj/Localizable.strings": #""K" = "From %@";"#]).stage()
        let localized = try await published(
            #"{"aps":{"alert":{"subtitle-loc-key":"K","subtitle-loc-args":["c1"]},"mutable-content":1},"media-url":"u"}"#,
            after: localize, attachment)
        expect(
            localized.value, is: #"{"aps":{"alert":{"subtitle":"From c1 📷"},"mutable-content":1},"media-url":"u"}"#)
    }

    @Test("Placeholders become names in a text that another stage puts over a decrypted one")
    func replaced() async throws {
        let payload = #"{"aps":{"alert":"x","mutable-content":1},"E":"{pbagnpg:p1}"}"#
        let decrypt = try decrypt(("E", .member(JSONPointer(.body))))
        let published = try await published(
            payload, after: decrypt,
            ScriptedStage("s", isImmediate: true) { content, _ in
                content.body = "{contact:c1}"
                return .ok
            })
        expect(published.value, is: #"{"aps":{"alert":"Zoë Martin","mutable-content":1}}"#)
    }

    @Test("Rolling back a stage's edits also removes its marks")
    func rollback() throws {
        var content = try NotificationContent(#"{"aps":{"alert":"a"}}"#)
        let savepoint = content.savepoint()
        let body = try #require(content.node(of: .body))
        content.markDecrypted(body)
        #expect(content.isDecrypted(body))
        content.rollback(to: savepoint)
        #expect(!content.isDecrypted(body))
    }

    @Test("A decrypted text in an identifier field is replaced only if a contact has this identifier")
    mutating func decryptedField() async throws {
        chain.options.includesDecrypted = true
        let decrypt = try decrypt(("E", .member(JSONPointer(member: "from"))))
        for (ciphertext, from, result) in [("p1", "Zoë Martin", "ok"), ("Fbzr grkg", "Some text", "skipped")] {
            let payload = #"{"aps":{"alert":"x","mutable-content":1},"E":"\#(ciphertext)"}"#
            let published = try await published(payload, after: decrypt)
            expect(published.value, is: #"{"aps":{"alert":"x","mutable-content":1},"from":"\#(from)"}"#)
            expect(published.stages, is: "decrypt=ok,contact=\(result)")
        }
    }

    @Test("Placeholders in decrypted text become names unless they are excluded")
    func included() async throws {
        var chain = chain
        chain.options.includesDecrypted = true
        let payload = #"{"aps":{"alert":"x","mutable-content":1},"E":"{pbagnpg:p1}"}"#
        let decrypt = try decrypt(("E", .member(JSONPointer(.body))))
        await expect(
            Message(payload).publish(chain(after: [decrypt]))?.value,
            is: #"{"aps":{"alert":"Zoë Martin","mutable-content":1}}"#)
    }
}
