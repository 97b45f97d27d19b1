import PushmillStages
import PushmillTestSupport
import Testing

@Suite("Setting formats")
struct SettingFormatTests {
    enum Mode: String, CaseIterable, Sendable { case increment, absolute, off }

    @Test("A wrong choice is reported with all choices and the likely intended one") func choice() {
        var settings = SettingReader(["good": "absolute", "bad": "incremnt", "worse": ["off"], "alone": "x"])
        expect(settings.value("good", .choice(Mode.self), default: .off), is: .absolute)
        expect(settings.value("bad", .choice(Mode.self), default: .off), is: .off)
        #expect(settings.required("worse", .choice(Mode.self)) == nil)
        #expect(settings.optional("alone", .choice([1], name: { "\($0)" })) == nil)
        expect(
            settings.messages,
            is: [
                "bad: expected increment, absolute or off, found \"incremnt\"; did you mean \"increment\"?",
                "worse: expected one value, found a list",
                "alone: expected 1, found \"x\"",
            ])
    }

    @Test(
        "An integer must be within its range",
        arguments: [
            ("1", 1), ("10", 10), ("0", nil), ("11", nil), ("1.0", nil), ("", nil), ("99999999999999999999", nil),
        ])
    func integer(text: String, value: Int?) {
        var settings = SettingReader(["n": Setting(stringLiteral: text)])
        expect(settings.optional("n", .integer(1...10)), is: value)
        expect(settings.messages, is: (value == nil ? ["n: expected an integer from 1 to 10, found \"\(text)\""] : []))
    }

    @Test("A switch is true or false and nothing else", arguments: ["yes", "True", "1", "on", ""])
    func notABool(text: String) {
        var settings = SettingReader(["b": Setting(stringLiteral: text), "t": "true", "f": "false"])
        expect(settings.value("t", .bool, default: false), is: true)
        expect(settings.value("f", .bool, default: true), is: false)
        expect(settings.value("b", .bool, default: true), is: true)
        expect(settings.messages, is: ["b: expected true or false, found \"\(text)\""])
    }

    @Test(
        "A relative path is resolved against the configuration's folder",
        arguments: [("a.json", "/etc/pushmill/a.json"), ("../a", "/etc/pushmill/../a"), ("/a", "/a")])
    func file(text: String, path: String) {
        var settings = SettingReader(["f": Setting(stringLiteral: text)])
        expect(settings.required("f", .file), is: path)
        expect(settings.shown("f"), is: path)
    }

    @Test("A word that the setting allows besides paths stays as it is") func fileOrWord() {
        var settings = SettingReader(["f": "probe", "g": ""])
        expect(settings.required("f", .file(besides: ["probe"])), is: "probe")
        #expect(settings.required("g", .file) == nil)
        expect(settings.messages, is: ["g: expected a path, found \"\""])
    }

    @Test(
        "A file's contents are not accepted as its path, and are not quoted",
        arguments: [#"{"keys":[{"k":"geheim"}]}"#, " {}", "-----BEGIN PRIVATE KEY-----\ngeheim"])
    func contents(text: String) {
        var settings = SettingReader(["f": Setting(stringLiteral: text)])
        #expect(settings.required("f", .file) == nil)
        expect(settings.messages, is: ["f: expected the path of a file, not its contents"])
    }

    @Test(
        "A pointer starts with a slash and escapes only by ~0 and ~1",
        arguments: [
            ("/a", true), ("/", true), ("/a~0b~1c", true), ("", false), ("a/b", false), ("/a~2", false),
            ("/a~", false),
        ])
    func pointer(text: String, isOne: Bool) {
        var settings = SettingReader(["p": Setting(stringLiteral: text)])
        expect((settings.optional("p", .pointer) != nil), is: isOne)
        expect(settings.problems.isEmpty, is: isOne)
    }

    @Test("A secret appears neither in the configuration shown nor in messages") func secret() {
        var settings = SettingReader(["key": "geheim", "pin": "geheim"])
        expect(settings.required("key", .text.hidden), is: "geheim")
        _ = settings.optional("pin", SettingFormat<Int>.integer(0...9).hidden)
        #expect(!("\(settings.effective)" + settings.messages.joined()).contains("geheim"))
        expect(settings.shown("key"), is: "(hidden)")
        expect(settings.messages, is: ["pin: expected an integer from 0 to 9"])
    }

    @Test("A long text is quoted shortened, with control characters replaced") func quoting() {
        var settings = SettingReader(["b": Setting(stringLiteral: "a\n\u{1B}" + String(repeating: "x", count: 1000))])
        _ = settings.optional("b", .bool)
        let quoted = "a\u{FFFD}\u{FFFD}" + String(repeating: "x", count: 37) + "…"
        expect(settings.messages, is: ["b: expected true or false, found \"\(quoted)\""])
    }

    @Test(
        "A URL is quoted without its user name and password",
        arguments: [
            ("https://anna:geheim@media.example.com/", "https://…@media.example.com/"),
            ("https://anna@media.example.com/", "https://…@media.example.com/"), ("anna:geheim@host", "…@host"),
            ("%@ and @", "%@ and @"),
        ])
    func credentials(url: String, shown: String) {
        var settings = SettingReader(["u": Setting(stringLiteral: url)])
        _ = settings.optional("u", .webFolder)
        expect(settings.messages, is: ["u: expected a URL such as https://media.example.com/, found \"\(shown)\""])
    }

    @Test("The configuration's folder may end in a slash or be empty")
    func folders() throws {
        func parse(_ path: String, _ folder: String) throws -> String {
            try SettingFormat<String>.file.parse(path, folder)
        }
        #expect(try parse("a", "/etc/") == "/etc/a" && parse("a", "/") == "/a" && parse("a", "") == "a")
    }
}
