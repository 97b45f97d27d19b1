import PushmillStages
import PushmillTestSupport
import Testing

@Suite("Reading settings")
struct SettingReaderTests {
    @Test("A missing or null setting has its default") func defaults() {
        var settings = SettingReader(["b": nil, "l": nil, "m": nil, "x": nil])
        expect(settings.value("a", .text, default: "A"), is: "A")
        expect(settings.value("b", .text, default: "B"), is: "B")
        #expect(settings.optional("c", .text) == nil)
        expect(settings.list("l", .text, default: ["L"]), is: ["L"])
        expect(settings.map("m") { $0.value("n", .text, default: "N") }, is: "N")
        expect(settings.maps("x") { _ in 1 }, is: [])
        expect(settings.maps("y", implied: 2) { $0.value("n", .text, default: "N") }, is: ["N", "N"])
        settings.finish()
        expect(settings.messages, is: [])
    }

    @Test("Effective settings are shown in their maps, including defaults") func effective() throws {
        var settings = SettingReader(["m": ["n": "1"]])
        settings.map("m") {
            _ = $0.value("n", .text, default: "0")
            _ = $0.map("o") { $0.value("p", .text, default: "P") }
        }
        guard case .map(let shown) = settings.effective.value, case .map(let members)? = shown.first?.value.value,
            case .map(let inner)? = members.last?.value.value
        else { throw SettingMismatch(expected: "maps in maps") }
        #expect(shown.map(\.key) == ["m"] && members.map(\.key) == ["n", "o"])
        expect(inner.map(\.key), is: ["p"])
        guard case .scalar("P")? = inner.first?.value.value else { throw SettingMismatch(expected: "the default") }
    }

    @Test("All problems are reported at once, each with its path") func everything() {
        var settings = SettingReader([
            "mode": "maybe", "fields": [["from": "1", "to": "/b", "form": "x"], "text"], "nested": ["deep": ["n": "x"]],
            "formats": ["text", ["a"], "b"], "other": "x",
        ])
        #expect(settings.required("keys", .file) == nil)
        expect(settings.value("mode", .bool, default: true), is: true)
        expect(settings.list("formats", .choice(["text"], name: { $0 })), is: ["text"])
        _ = settings.maps("fields") {
            _ = $0.required("from", .pointer)
            _ = $0.required("to", .pointer)
        }
        settings.map("nested") { $0.map("deep") { _ = $0.optional("n", .integer(0...1)) } }
        settings.report("mode", "is not the one for a Monday")
        settings.report("has no use")
        settings.finish()
        expect(
            settings.messages,
            is: [
                "keys: is required",
                "mode: expected true or false, found \"maybe\"",
                "formats[1]: expected one value, found a list",
                "formats[2]: expected text, found \"b\"",
                "fields[0].from: expected a JSON Pointer such as /aps/alert/body, found \"1\"",
                "fields[0].form: unknown key; did you mean \"from\"?",
                "fields[1]: expected a map",
                "fields[1].from: is required",
                "fields[1].to: is required",
                "nested.deep.n: expected an integer from 0 to 1, found \"x\"",
                "mode: is not the one for a Monday",
                ": has no use",
                "other: unknown key",
            ])
    }

    @Test("A map is not accepted as a scalar, nor a scalar as a map") func shapes() {
        var settings = SettingReader(["a": [:], "b": "x", "c": "x", "d": [:]])
        expect(settings.value("a", .text, default: "A"), is: "A")
        expect(settings.map("b") { $0.value("n", .text, default: "N") }, is: "N")
        expect(settings.maps("c") { _ in 1 }, is: [])
        expect(settings.list("d", .text), is: [])
        expect(
            settings.messages,
            is: [
                "a: expected one value, found a map", "b: expected a map",
                "c: expected a list, found \"x\"", "d: expected one value, found a map",
            ])
        let scalar = SettingReader("sasl.password:x")
        expect(scalar.messages, is: [": expected a map"])
    }

    @Test("A single scalar is read as a list of one") func listOfOne() {
        var settings = SettingReader(["a": "x,y"])
        expect(settings.list("a", .text), is: ["x,y"])
    }

    @Test("Named items are read under their names") func named() {
        var settings = SettingReader([
            "stages": ["badge", ["decrypt": ["n": "x"]], ["a": nil, "b": nil], ["c"]]
        ])
        let names = settings.namedMaps("stages") { name, settings in
            _ = settings.optional("n", .bool)
            return name
        }
        expect(names, is: ["badge", "decrypt"])
        expect(
            settings.messages,
            is: [
                "stages.decrypt.n: expected true or false, found \"x\"",
                "stages[2]: expected a name, or a name with its settings, found a map",
                "stages[3]: expected a name, or a name with its settings, found a list",
            ])
    }

    @Test("Properties keep their own names, and defaults come first") func properties() {
        var settings = SettingReader(["b.c": "1", "d": nil, "e": ["x"], "nested": [:], "password": "geheim"])
        let properties = settings.properties(
            besides: ["nested"], defaults: [("a", "0"), ("b.c", "0"), ("d", "0")]
        ) { $0 == "password" ? .text.hidden : .text }
        expect(properties.map(\.name), is: ["a", "b.c", "d", "password"])
        expect(properties.map(\.value), is: ["0", "1", "0", "geheim"])
        expect(properties.map { $0.place == nil }, is: [true, false, true, false])
        expect(settings.messages, is: ["e: expected one value, found a list"])
        #expect(!"\(properties) \(settings.effective)".contains("geheim"))
        settings.map("nested") { _ in }
        settings.finish()
        expect(settings.problems.count, is: 1)
    }

    @Test("A problem with a nested key is reported at the key's place, or at the innermost existing map") func places()
    {
        func place(_ line: Int) -> Place { .file("test.yaml", line: line, column: 1) }
        func map(_ line: Int, _ members: KeyValuePairs<String, Setting>) -> Setting {
            let members = members.map { Setting.Member(key: $0, place: place(line), value: $1) }
            return Setting(place: place(line), value: .map(members))
        }
        let text = { Setting(place: place($0), value: .scalar("x")) }
        var settings = SettingReader(map(1, ["a": text(2), "m": map(3, ["b": text(4), "c": text(5)])]))
        for keys in [["a"], ["m", "c"], ["m", "d"], ["m", "b", "e"], ["n", "b"]] {
            settings.report(at: keys, "is wrong")
        }
        expect(settings.problems.map(\.place), is: [2, 5, 3, 4, 1].map(place))
        expect(settings.problems.map(\.path), is: ["a", "m.c", "m.d", "m.b.e", "n.b"])
    }
}

@Suite("Places of settings")
struct PlaceTests {
    private func file(_ line: Int, _ column: Int) -> Place { .file("a.yaml", line: line, column: column) }

    @Test("Places in the file sort by position, then variables by name")
    func order() {
        let places = [file(1, 2), file(1, 3), file(2, 1), .variable("A"), .variable("B")]
        expect(places.reversed().sorted(), is: places)
        for (first, second) in zip(places, places.dropFirst()) { #expect(first < second && !(second < first)) }
        for place in places { #expect(!(place < place)) }
        expect(places.map(\.description), is: ["a.yaml:1:2", "a.yaml:1:3", "a.yaml:2:1", "A", "B"])
    }

    @Test("A problem's description has its place and its path, if there is one")
    func problems() {
        expect(
            SettingProblem(place: file(3, 4), path: "a.b", message: "is wrong").description,
            is: "a.yaml:3:4: a.b: is wrong")
        expect(SettingProblem(place: .variable("A"), path: "", message: "is wrong").description, is: "A: is wrong")
    }

    @Test("A renamed key is reported if it has a value, and only once")
    func renamed() {
        var settings = SettingReader(["old": "1", "null": nil])
        settings.renamed("old", to: "new")
        settings.renamed("null", to: "new")
        settings.renamed("none", to: "new")
        settings.finish()
        expect(settings.messages, is: ["old: renamed to `new`"])
    }

    @Test("A warning has the path of its key, nested too, and is not a problem")
    func warnings() {
        var settings = SettingReader(["m": ["a": "1"]])
        settings.map("m") { settings in
            _ = settings.optional("a", .text)
            settings.warn("a", "is unusual")
        }
        settings.finish()
        #expect(settings.warnings.map(\.path) == ["m.a"] && settings.warnings.map(\.message) == ["is unusual"])
        #expect(settings.problems.isEmpty)
    }
}
