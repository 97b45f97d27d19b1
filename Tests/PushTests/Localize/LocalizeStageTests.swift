import PushmillBenchmarks
import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillLocalization
@testable import PushmillPayload
@testable import PushmillStages

@Suite("The localize stage")
struct LocalizeStageTests {
    private let fixture: CatalogFixture
    private let file: ReloadableFile<CatalogInUse>

    init() throws {
        fixture = try CatalogFixture([
            "en.lproj/Localizable.strings": #"FROM = "Message from %@"; IN = "%1$@ in %2$@"; NEWS = "You have news";"#,
            "de.lproj/Localizable.strings": #"FROM = "Nachricht von %@"; IN = "In %2$@: %1$@"; COUNT = "%d Stück";"#,
        ])
        file = try ReloadableFile(path: fixture.folder) { path, _ in
            CatalogInUse(try Catalog(folder: path, defaultLocale: .english))
        }
    }

    private func chain(_ sources: [String] = ["header:locale", "/locale"]) -> Chain {
        Chain([ChainLink(LocalizeStage(catalog: file, localeSources: sources.compactMap(ValueSource.init)))])
    }

    private func payload(_ alert: String, _ more: String = "") -> String {
        #"{"aps":{"alert":{\#(alert)},"mutable-content":1}\#(more)}"#
    }

    @Test("Lists with the same match share one choice, and others do not")
    func shared() {
        let stage = LocalizeStage(catalog: file, localeSources: [])
        func choice(_ list: String) -> LocaleChoice { Array(list.utf8).withUnsafeBufferPointer { stage.choose($0) } }
        let first = choice("de-CH, fr-FR")
        #expect(choice("de-CH, it-IT;q=0.5") === first)
        #expect(choice("xx, de_CH") === first)
        // Their numbers differ, or their texts.
        #expect(choice("de-DE, fr-FR") !== first)
        #expect(choice("en-CH, fr-FR") !== first)
    }

    @Test(
        "A localization key is replaced by text in the recipient's language",
        arguments: [
            (
                "de", #""title-loc-key":"FROM","title-loc-args":["Zoë"],"body":"b""#,
                #""body":"b","title":"Nachricht von Zoë""#
            ),
            ("de-AT", #""loc-key":"NEWS","title":"t""#, #""title":"t","body":"You have news""#),
            ("xx, de;q=0.5", #""loc-key":"IN","loc-args":["a","b"]"#, #""body":"In b: a""#),
            ("de", #""loc-key":"COUNT","loc-args":[12]"#, #""body":"12 Stück""#),
            ("de", #""loc-key":"COUNT","loc-args":["1e3"]"#, #""body":"1.000 Stück""#),
            ("de", #""loc-key":"F\u0052OM","loc-args":["a\n\ud83d\ude00\"\\"]"#, #""body":"Nachricht von a\n😀\"\\""#),
            ("", #""loc-key":"FROM","loc-args":["{contact:c1}"]"#, #""body":"Message from {contact:c1}""#),
            (
                "de", #""subtitle":"old","subtitle-loc-key":"NEWS","subtitle-loc-args":[]"#,
                #""subtitle":"You have news""#
            ),
        ])
    func localized(locale: String, alert: String, expected: String) async {
        let published = await Message(payload(alert), ["locale": locale]).publish(chain())
        expect(published?.value, is: payload(expected))
        expect(published?.stages, is: "localize=ok")
    }

    @Test("A reload frees the old catalog, whichever threads have used it")
    func letGo() async {
        let chain = chain()
        weak let old = file.value.catalog
        _ = await Message(payload(#""loc-key":"NEWS""#)).publish(chain)
        #expect(old != nil)
        expect(file.reload(.request), is: .reloaded)
        #expect(old == nil)
    }

    @Test("Each lane has its own default choice, so threads do not contend for its reference count")
    func ownDefaults() {
        let choices = file.lanes.map { lane in lane.value.withLock { ObjectIdentifier($0.defaultChoice) } }
        expect(Set(choices).count, is: file.lanes.count)
    }

    @Test(
        "An alert that cannot be localized stays for the device, with a reason",
        arguments: [
            (#""loc-key":"NOWHERE","loc-args":["x"]"#, "missing"), (#""loc-key":"""#, "skipped"),
            (#""loc-key":5,"body":"b""#, "skipped"),
            (#""body":"b""#, "skipped"), (#""loc-key":"IN","loc-args":["x"]"#, "failed:arguments"),
            (#""loc-key":"FROM""#, "failed:arguments"),
            (#""loc-key":"FROM","loc-args":null"#, "failed:arguments"),
            (#""loc-key":"IN","loc-args":["x",null]"#, "failed:arguments"),
            (#""loc-key":"FROM","loc-args":"x""#, "failed:arguments"),
            (#""loc-key":"FROM","loc-args":[["x"]]"#, "failed:arguments"),
            (#""loc-key":"FROM","loc-args":[null]"#, "failed:arguments"),
            (#""loc-key":"FROM","loc-args":[true]"#, "failed:arguments"),
            (#""loc-key":"COUNT","loc-args":["many"]"#, "failed:arguments"),
        ])
    func left(alert: String, result: String) async {
        let published = await Message(payload(#""title":"t","# + alert), ["locale": "de"]).publish(chain())
        expect(published?.value, is: payload(#""title":"t","# + alert))
        expect(published?.stages, is: "localize=\(result)")
    }

    @Test(
        "A translation may use fewer arguments than the message has",
        arguments: [
            ("en", #""NEWS","loc-args":[3]"#, "You have news"), ("de", #""COUNT","loc-args":[3,"x"]"#, "3 Stück"),
            ("de", #""COUNT","loc-args":[3,null,["x"]]"#, "3 Stück"),
            ("en", #""NEWS","loc-args":null"#, "You have news"),
            ("en", #""NEWS","loc-args":[true]"#, "You have news"),
            ("en", #""FROM","loc-args":["x"\#(String(repeating: ",1", count: 40))]"#, "Message from x"),
        ])
    func surplus(locale: String, key: String, expected: String) async {
        let published = await Message(payload(#""loc-key":"# + key), ["locale": locale]).publish(chain())
        expect(published?.value, is: payload(#""body":"\#(expected)""#))
        expect(published?.stages, is: "localize=ok")
    }

    @Test("Each text is localized on its own, and the worst result is reported")
    func mixed() async {
        let alert = #""title-loc-key":"NOWHERE","subtitle-loc-key":"NEWS","loc-key":"IN""#
        let published = await Message(payload(alert)).publish(chain())
        expect(published?.value, is: payload(#""title-loc-key":"NOWHERE","loc-key":"IN","subtitle":"You have news""#))
        expect(published?.stages, is: "localize=failed:arguments")
    }

    @Test("The first source with a value names the locale")
    func sources() async {
        let alert = #""loc-key":"FROM","loc-args":["x"]"#
        let member = payload(alert, #","locale":"de""#)
        await expect(
            Message(member).publish(chain())?.value, is: payload(#""body":"Nachricht von x""#, #","locale":"de""#))
        let both = await Message(member, ["locale": "en"]).publish(chain())
        expect(both?.value, is: payload(#""body":"Message from x""#, #","locale":"de""#))
        let other = await Message(payload(alert), ["lang": "de"]).publish(chain(["header:lang"]))
        expect(other?.value, is: payload(#""body":"Nachricht von x""#))
        let key = await Message(payload(alert), key: "de").publish(chain(["key"]))
        expect(key?.value, is: payload(#""body":"Nachricht von x""#))
        await expect(Message(payload(alert)).publish(chain([]))?.value, is: payload(#""body":"Message from x""#))
    }

    @Test(
        "A locale list of more than 512 bytes gets the default locale",
        arguments: [(512, "Nachricht von x"), (513, "Message from x")])
    func longList(count: Int, expected: String) async {
        let list = "de" + String(repeating: ",xx", count: 170) + String(repeating: " ", count: count - 512)
        expect(list.utf8.count, is: count)
        let chain = chain()
        let message = Message(payload(#""loc-key":"FROM","loc-args":["x"]"#), ["locale": list])
        // The second round uses the remembered choice, if there is one.
        for _ in 0..<2 {
            await expect(message.publish(chain)?.value, is: payload(#""body":"\#(expected)""#))
        }
    }

    @Test("An argument of 4,000 bytes is put into its text")
    func long() async {
        let name = String(repeating: "é", count: 2_000)
        let published = await Message(payload(#""loc-key":"FROM","loc-args":["\#(name)"]"#)).publish(chain())
        expect(published?.outcome, is: .modified)
        expect(published?.value?.contains(#""body":"Message from ééé"#), is: true)
    }

    /// Bypasses the chain, which would shorten the text.
    @Test(
        "A text of up to 256 KiB is localized whole; a longer one is left to the device",
        arguments: Array(1009...1026) + [16_371, 16_372, 16_384, 16_385, 262_131, 262_132])
    func lengths(count: Int) throws {
        let chain = chain()
        let stage = try #require(chain.links.first?.stage as? LocalizeStage)
        let (first, second) = (String(repeating: "x", count: count - 3), "yéz")
        var content = try NotificationContent(payload(#""loc-key":"FROM","loc-args":["\#(first)"]"#))
        let result = stage.didReceive(&content, context: .sample(chain))
        let whole = "Message from \(first)"
        let fits = whole.utf8.count <= 262_144
        expect(result, is: (fits ? .ok : .failed("arguments")))
        expect(content.body, is: (fits ? whole : nil))
        // Two arguments share the memory for arguments, one after the other.
        try content.read(payload(#""loc-key":"IN","loc-args":["\#(second)","\#(first)"]"#))
        _ = stage.didReceive(&content, context: .sample(chain))
        let both = "\(second) in \(first)"
        expect(content.body, is: (both.utf8.count <= 262_144 ? both : nil))
    }

    @Test("A text lent to another stage has at most 1 KiB", arguments: [(1024, true), (1025, false)])
    func lent(count: Int, isGiven: Bool) throws {
        let text = String(repeating: "x", count: count)
        let stage = try CatalogFixture(["en.lproj/Localizable.strings": "K = \"\(text)\"; L = \"%@\";"]).stage()
        let context = StageContext.sample(Chain([ChainLink(stage)]))
        let content = try NotificationContent(payload(#""body":"b""#))
        func shown(_ key: String) -> String? {
            var shown: String?
            let isShown = context.withText(of: Array(key.utf8).span, for: content) { text in
                shown = text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            }
            return isShown ? shown : nil
        }
        expect(shown("K"), is: (isGiven ? text : nil))
        #expect(shown("L") == nil && shown("M") == nil)
    }

    @Test("The next message uses a changed catalog; a broken one leaves the old one in force")
    func reload() async throws {
        let chain = chain()
        let message = Message(payload(#""loc-key":"NEWS""#), ["locale": "de"])
        await expect(message.publish(chain)?.value, is: payload(#""body":"You have news""#))

        try fixture.write("de.lproj/Localizable.strings", Array("NEWS = Neues;".utf8))
        expect(file.reload(.request), is: .reloaded)
        await expect(message.publish(chain)?.value, is: payload(#""body":"Neues""#))

        try fixture.write("de.lproj/Localizable.strings", Array("NEWS = \"%#@n@\";".utf8))
        let place = "\(fixture.folder)/de.lproj/Localizable.strings:1:8"
        expect(file.reload(.request), is: .failed("\(place): %#@n@ names no variable of this key"))
        await expect(message.publish(chain)?.value, is: payload(#""body":"Neues""#))

        // The tables have moved: a locale chosen before must not get another locale's table.
        try fixture.write("de.lproj/Localizable.strings", Array("NEWS = Neues;".utf8))
        try fixture.write("ar.lproj/Localizable.strings", Array("NEWS = arabic;".utf8))
        expect(file.reload(.request), is: .reloaded)
        await expect(message.publish(chain)?.value, is: payload(#""body":"Neues""#))
    }

    @Test("Localizing a message allocates nothing", .enabled(if: AllocationBudget.holds))
    func allocations() throws {
        for measurement in try Measurement.localize(messages: 1000) {
            #expect(measurement.allocations <= Double(AllocationBudget.localize), "\(measurement.name)")
        }
    }
}
