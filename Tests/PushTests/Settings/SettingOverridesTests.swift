import PushmillStages
import PushmillTestSupport
import Testing

@Suite("Settings from variables")
struct SettingOverridesTests {
    private func reader(_ setting: Setting, _ variables: [String: String]) -> SettingReader {
        SettingReader(
            setting, folder: "/etc", overrides: SettingOverrides(prefix: "APP", variables: variables))
    }

    @Test("A variable overrides the file, and may set what the file does not have") func wins() {
        var settings = reader(
            ["a-b": "1", "list": ["x"]],
            [
                "APP_A_B": "2", "APP_MISSING": "3", "APP_LIST": " y, z ,w", "APP_M_N_O": "4", "APP_ITEMS_1_N": "5",
                "APP_S_BADGE_MODE": "6", "OTHER_A_B": "7", "APP": "8",
            ])
        expect(settings.value("a-b", .text, default: ""), is: "2")
        expect(settings.optional("missing", .text), is: "3")
        expect(settings.list("list", .text), is: ["y", "z", "w"])
        expect(settings.map("m") { $0.map("n") { $0.required("o", .text) } }, is: "4")
        expect(settings.maps("items", implied: 2) { $0.optional("n", .text) }, is: [nil, "5"])
        settings.finish()
        expect(settings.messages, is: [])
        expect(
            settings.overrides.problems.map(\.description),
            is: [
                "APP_S_BADGE_MODE: no such setting"
            ])
    }

    @Test("An empty variable gives the default, whatever the file says") func empty() {
        var settings = reader(["a": "1"], ["APP_A": ""])
        expect(settings.value("a", .text, default: "0"), is: "0")
        #expect(settings.overrides.problems.isEmpty)
    }

    @Test("A problem names the variable that caused it") func place() {
        var settings = reader(["m": ["a": "1"]], ["APP_M_A": "x", "APP_M_L": "true,x", "APP_M_AA": "1"])
        settings.map("m") {
            _ = $0.value("a", .integer(0...9), default: 0)
            _ = $0.list("l", .bool)
        }
        settings.report(at: ["m", "a"], "again")
        settings.report(at: ["m", "missing"], "where it would be")
        expect(
            (settings.problems + settings.overrides.problems).map(\.description),
            is: [
                "APP_M_A: m.a: expected an integer from 0 to 9, found \"x\"",
                "APP_M_L: m.l: expected true or false, found \"x\"",
                "APP_M_A: m.a: again",
                "test.yaml:1:1: m.missing: where it would be",
                "APP_M_AA: no such setting; did you mean \"APP_M_A\"?",
            ])
    }

    @Test("In a map of properties, an underscore in a variable's name stands for a dot") func properties() {
        var settings = reader(
            ["k": ["ssl.ca": "f", "sub": ["x.y": "f"]]],
            ["APP_K_SSL_CA": "v", "APP_K_NEW_ONE": "v", "APP_K_SUB_X_Y": "v", "APP_K_SUB_Z": "v", "APP_K_D": "v"])
        settings.map("k") { settings in
            let own = settings.properties(besides: ["sub"], defaults: [("d", "0")]) { _ in .text }
            let sub = settings.map("sub") { $0.properties { _ in .text } }
            expect(own.map(\.name), is: ["d", "ssl.ca", "new.one"])
            expect(sub.map(\.name), is: ["x.y", "z"])
            #expect((own + sub).allSatisfy { $0.value == "v" })
            expect(own.last?.place, is: .variable("APP_K_NEW_ONE"))
        }
        #expect(settings.problems.isEmpty)
        #expect(settings.overrides.problems.isEmpty)
    }
}
