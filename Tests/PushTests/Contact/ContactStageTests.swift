import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

/// A chain of the contact stage, alone or after other stages.
struct ContactChain {
    var options = ContactStage.Options()
    var book = ListedContacts.sample

    func callAsFunction(after earlier: [any Stage] = []) -> Chain {
        let stages = earlier + [ContactStage(options, book: book)]
        return Chain(stages.map { ChainLink($0) })
    }
}

extension Message {
    /// A message with a mutable alert.
    init(alert: String, _ headers: KeyValuePairs<String, String> = [:], key: String? = "anna") {
        self.init(#"{"aps":{"alert":"# + alert + #","mutable-content":1}}"#, headers, key: key)
    }
}

extension Published {
    /// The alert's JSON in the value.
    var alert: String? {
        let (start, end) = (#"{"aps":{"alert":"#, #","mutable-content":1}}"#)
        guard let value, value.hasPrefix(start), value.hasSuffix(end) else { return nil }
        return String(value.dropFirst(start.count).dropLast(end.count))
    }
}

struct ContactStageTests {
    var chain = ContactChain()

    private func named(_ alert: String, key: String? = "anna") async throws -> (alert: String?, stages: String?) {
        let published = try #require(await Message(alert: alert, key: key).publish(chain()))
        return (published.alert, published.stages)
    }

    @Test(
        "A placeholder becomes the name under which the recipient knows the contact",
        arguments: [
            (#"{"body":"{contact:c1} says hi"}"#, "anna", #"{"body":"Zoë Martin says hi"}"#, "ok"),
            (#"{"body":"{contact:c1} says hi"}"#, "boris", #"{"body":"Мама says hi"}"#, "ok"),
            (#"{"body":"{contact:c1} says hi"}"#, "carl", #"{"body":"Directory Zoe says hi"}"#, "ok"),
            (#"{"body":"{contact:c77} says hi"}"#, "anna", #"{"body":"Someone says hi"}"#, "miss"),
            (
                #"{"title":"{contact:c1}","body":"{contact:c7}"}"#, "anna", #"{"title":"Zoë Martin","body":"Someone"}"#,
                "miss"
            ),
            (#"{"subtitle":"{contact:c1}{contact:42}"}"#, "anna", #"{"subtitle":"Zoë Martin3 + 4"}"#, "ok"),
            (#""{contact:c1}!""#, "anna", #""Zoë Martin!""#, "ok"),
            (#"{"body":"{contact:c3} and {contact:c1}"}"#, "anna", #"{"body":"{contact:c1} and Zoë Martin"}"#, "ok"),
            (#"{"body":"{contact:c4}"}"#, "anna", #"{"body":"BadGuy!"}"#, "ok"),
            (#"{"body":"\u007bcontact:c1} & \"q\""}"#, "anna", #"{"body":"Zoë Martin & \"q\""}"#, "ok"),
        ])
    func placeholders(_ alert: String, _ owner: String, _ expected: String, _ result: String) async throws {
        let (alert, stages) = try await named(alert, key: owner)
        expect(alert, is: expected)
        expect(stages, is: "contact=\(result)")
    }

    @Test("A text with thousands of placeholders is shortened to the limit and shows no placeholder")
    func manyNames() async throws {
        let name = String(repeating: "Zoë ", count: 60)
        var chain = ContactChain()
        chain.book = ListedContacts(["anna/1": name])
        for placeholder in ["{contact:1}", "{contact:2}"] {
            let text = String(repeating: placeholder, count: 6_000)
            let published = try #require(await Message(alert: #"{"body":"\#(text)"}"#).publish(chain()))
            let value = try #require(published.value)
            #expect(value.contains(placeholder == "{contact:1}" ? "Zoë Zoë" : "SomeoneSomeone"))
            #expect(value.contains("…") && !value.contains("{contact") && value.utf8.count <= 4096)
        }
    }

    @Test("A text longer than any that can be published is cut at the end of a character")
    func longText() async throws {
        let context = StageContext.sample(chain())
        let stage = try #require(context.chain.links.last?.stage)
        for prefix in ["", "x"] {
            let text = prefix + String(repeating: "é", count: 35_000)
            var content = try NotificationContent(#"{"aps":{"alert":"\#(text){contact:c1}","mutable-content":1}}"#)
            _ = try await stage.didReceive(&content, context: context)
            expect(content.body, is: prefix + String(repeating: "é", count: 8192 - prefix.count))
        }
    }

    @Test(
        "A text without a valid placeholder stays byte for byte",
        arguments: [
            #"{"body":"c1"}"#, #"{"body":"{contact:}"}"#, #"{"body":"{contact:c1"}"#, #"{"body":"{contact c1} {"}"#,
            #"{"body":"h\u00e9","launch-image":"{contact:c1}"}"#, #"{"body":"{contact:c1}","body":"h\u00e9"}"#,
            #"{"loc-key":"{contact:c1}"}"#, #""{""#,
        ])
    func untouched(_ alert: String) async throws {
        let (named, stages) = try await named(alert)
        expect(named, is: alert)
        expect(stages, is: "contact=skipped")
    }

    @Test("Without a recipient only the shared directory is searched", arguments: [nil, ""])
    func nobody(_ key: String?) async throws {
        try await expect(named(#""{contact:c9} {contact:c2}""#, key: key).alert, is: #""Public Name Someone""#)
    }

    @Test("The first configured source with a value names the contacts' owner")
    mutating func ownerFrom() async throws {
        chain.options.owner = [.header(Array("on-behalf-of".utf8)), .member(JSONPointer(member: "to")), .key]
        let body = #""{contact:c1}""#
        let header = try #require(await Message(alert: body, ["on-behalf-of": "boris"]).publish(chain()))
        expect(header.alert, is: #""Мама""#)
        try await expect(named(body).alert, is: #""Zoë Martin""#)
        let payload = #"{"to":"boris","aps":{"mutable-content":1,"alert":"{contact:c1}"}}"#
        await expect(Message(payload).publish(chain())?.value, is: payload.replacing("{contact:c1}", with: "Мама"))
    }

    @Test(
        "A configured field is an identifier as a whole",
        arguments: [
            (#"{"subtitle":"c1","body":"c1"}"#, #"{"subtitle":"Zoë Martin","body":"c1"}"#, "ok"),
            (#"{"subtitle":"c77","body":"b"}"#, #"{"subtitle":"Someone","body":"b"}"#, "miss"),
            (#"{"subtitle":"c3","body":"b"}"#, #"{"subtitle":"{contact:c1}","body":"b"}"#, "ok"),
            (#"{"subtitle":"{contact:c1}","body":"b"}"#, #"{"subtitle":"Zoë Martin","body":"b"}"#, "ok"),
            (#"{"subtitle":"","body":"b"}"#, #"{"subtitle":"","body":"b"}"#, "skipped"),
            (#"{"subtitle":1,"body":"b"}"#, #"{"subtitle":1,"body":"b"}"#, "skipped"),
            (#"{"body":"b"}"#, #"{"body":"b"}"#, "skipped"),
        ])
    mutating func fields(_ alert: String, _ expected: String, _ result: String) async throws {
        chain.options.fields = [try #require(JSONPointer("/aps/alert/subtitle"))]
        let (alert, stages) = try await named(alert)
        expect(alert, is: expected)
        expect(stages, is: "contact=\(result)")
    }

    @Test("A field outside of the alert can be an identifier too")
    mutating func otherField() async throws {
        chain.options.fields = [JSONPointer(member: "from")]
        let payload = #"{"from":"c1","aps":{"alert":"b","mutable-content":1}}"#
        await expect(Message(payload).publish(chain())?.value, is: payload.replacing("c1", with: "Zoë Martin"))
    }

    @Test(
        "A field that is configured twice is replaced only once",
        arguments: [
            (["/aps/alert/title", "/aps/alert/title"], #"{"title":"c1"}"#, #"{"title":"Zoë Martin"}"#),
            (["/aps/alert", "/aps/alert/body"], #""c1""#, #""Zoë Martin""#),
            (["/aps/alert/body", "/aps/alert"], #""c3""#, #""{contact:c1}""#),
            (["/aps/alert", "/aps/alert/title"], #""c1""#, #""Zoë Martin""#),
            (["/aps/alert", "/aps/alert/body"], #"{"body":"c1"}"#, #"{"body":"Zoë Martin"}"#),
        ])
    mutating func repeatedField(_ fields: [String], _ alert: String, _ expected: String) async throws {
        chain.options.fields = fields.compactMap { JSONPointer($0) }
        let (alert, stages) = try await named(alert)
        expect(alert, is: expected)
        expect(stages, is: "contact=ok")
    }

    @Test("Placeholders in localization arguments for the device become names, and the key stays")
    func arguments() async throws {
        let alert =
            #"{"title-loc-key":"FROM","title-loc-args":["{contact:c1}",1,"{contact:c3}"],"title":"{contact:c9}","body":"b"}"#
        let expected =
            #"{"title-loc-key":"FROM","title-loc-args":["Zoë Martin",1,"{contact:c1}"],"title":"Public Name","body":"b"}"#
        try await expect(named(alert).alert, is: expected)
    }

    @Test("At the last chance, the fallback is shown without a lookup")
    func lastChance() throws {
        let delivery = Delivery()
        let message = Message(alert: #"{"title":"{contact:c1}","loc-key":"K","loc-args":["{contact:c2}"]}"#)
        expect(message.begin(chain(), delivery, after: .seconds(30)).verdict, is: Verdict(.bestAttempt))
        let published = Published(Verdict(.bestAttempt), delivery)
        expect(published.alert, is: #"{"title":"Someone","loc-key":"K","loc-args":["Someone"]}"#)
        expect(published.stages, is: "contact=expired")
    }

    @Test("A fallback that is a key of the catalog is shown in the recipient's language")
    func localizedFallback() async throws {
        let catalog = try CatalogFixture([
            "de.lproj/Localizable.strings": #""Someone" = "Jemand";"#, "en.lproj/Localizable.strings": #""x" = "x";"#,
        ])
        let localize = try catalog.stage()
        let alert = #"{"body":"{contact:c77}: Hallo {contact:c1}"}"#
        for (locale, name) in [("de-AT", "Jemand"), ("fr", "Someone"), ("", "Someone")] {
            let published = await Message(alert: alert, ["locale": locale]).publish(chain(after: [localize]))
            expect(published?.alert, is: #"{"body":"\#(name): Hallo Zoë Martin"}"#)
            expect(published?.stages, is: "localize=skipped,contact=miss")
        }
    }

    @Test("If contacts cannot be read, the fallback is shown and the stage's result is failed:unavailable")
    mutating func unavailable() async throws {
        chain.book = ListedContacts([:], isUnavailable: true)
        let (alert, stages) = try await named(#""{contact:c1} and {contact:c1}""#)
        expect(alert, is: #""Someone and Someone""#)
        expect(stages, is: "contact=failed:unavailable")
    }

    @Test("Names are also put into texts too long for the stack buffer", arguments: [900, 5000, 16_000])
    func long(_ count: Int) async throws {
        let filling = String(repeating: "x", count: count)
        var content = try NotificationContent(#"{"aps":{"alert":"\#(filling){contact:c1}","mutable-content":1}}"#)
        let context = StageContext.sample(chain())
        let stage = try #require(context.chain.links.last?.stage)
        try await expect(stage.didReceive(&content, context: context), is: .ok)
        expect(content.body, is: filling + "Directory Zoe")
    }

    @Test("The stage follows its settings")
    func settings() async throws {
        var settings = SettingReader([
            "stages": [
                [
                    "contact": [
                        "source": "people.jsonl", "owner-from": "header:on-behalf-of",
                        "replace": "/aps/alert/subtitle", "unknown": "Nobody", "isolate": "false",
                    ]
                ]
            ]
        ])
        let stages = StageRegistry().read("stages", from: &settings)
        settings.finish()
        expect(settings.messages, is: [])
        let resources = StageResources(
            log: { _, _, _ in }, watcher: FileWatcher { _, _, _ in },
            contacts: { source in
                expect(source, is: .file("/etc/pushmill/people.jsonl"))
                return ListedContacts.sample
            })
        let stage = try await #require(stages.first).build(resources)
        let message = Message(
            alert: #"{"subtitle":"c77","body":"{contact:c2}!"}"#, ["on-behalf-of": "anna"], key: "boris")
        let published = await message.publish(Chain([ChainLink(stage)]))
        expect(published?.alert, is: #"{"subtitle":"Nobody","body":"علي حسن!"}"#)
    }
}
