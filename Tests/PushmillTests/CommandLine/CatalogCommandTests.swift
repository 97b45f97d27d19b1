import FoundationEssentials
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("catalog check")
struct CatalogCommandTests {
    /// A catalog of one `.strings` file for each language, deleted after the test.
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.path + "/pushmill-\(UUID().uuidString)"

        init(_ strings: KeyValuePairs<String, String>) throws {
            for (language, text) in strings {
                let folder = "\(path)/\(language).lproj"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try Data(text.utf8).write(to: URL(filePath: "\(folder)/Localizable.strings"))
            }
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    @Test("The check of a complete catalog exits with 0") func complete() async throws {
        let folder = try Folder(["de": "A = a;", "en": "A = a;"])
        let terminal = Terminal()
        await expect(terminal.run(Program.commands, "catalog check \(folder.path)"), is: .success)
        expect(terminal.output, is: "de: keys: 1, findings: 0\nen: keys: 1, findings: 0")
    }

    @Test("A key that the chosen language has and another lacks exits with 1") func missing() async throws {
        let folder = try Folder(["de": "A = a; B = b;", "en": "A = a;"])
        let terminal = Terminal()
        await expect(terminal.run(Program.commands, "catalog check \(folder.path) --language de"), is: .different)
        let totals = "de: keys: 2, findings: 0\nen: keys: 1, missing: 1\n"
        expect(terminal.output, is: totals + "en: 1 missing; --all lists them")
        let whole = Terminal()
        await expect(whole.run(Program.commands, "catalog check \(folder.path) --language de --all"), is: .different)
        expect(whole.output, is: totals + "en: \"B\" is missing")
    }

    @Test("--fail-on and --only select findings by kind") func kinds() async throws {
        let folder = try Folder(["de": "A = \"%@ %@\"; A = \"%@\";", "en": "A = a; \"B\\n\u{1B}\" = b;"])
        func run(_ options: String) async -> (ExitCode, String) {
            let terminal = Terminal()
            let code = await terminal.run(Program.commands, "catalog check \(folder.path) \(options)")
            return (code, terminal.output.replacing(folder.path, with: ""))
        }
        await #expect(
            run("--fail-on forms --only forms") == (
                .success, "de: keys: 1, findings: 0\nen: keys: 2, findings: 0"
            ))
        await expect(run("--fail-on warning --only forms").0, is: .different)
        await expect(run("--fail-on forms --fail-on missing").0, is: .different)
        await #expect(
            run("--all --fail-on unreadable") == (
                .success,
                """
                de: keys: 1, missing: 1, arguments: 1
                en: keys: 2, findings: 0
                /de.lproj/Localizable.strings:1:14: the key "A" occurs twice; the last is used (warning)
                de: "A" takes %1$@, but no arguments in the development language
                de: "B\\n\\u{1B}" is missing
                """
            ))
        await expect(
            run("--json --only missing --only warning").1,
            is: #"""
                {"files":[{"column":14,"file":"/de.lproj/Localizable.strings","kind":"warning","line":1,\#
                "message":"the key \"A\" occurs twice; the last is used"}],"locales":[{"findings":[{"key":"B\n\u001b",\#
                "kind":"missing","message":"\"B\n\u001b\" is missing"}],"keys":1,"locale":"de"},\#
                {"findings":[],"keys":2,"locale":"en"}]}
                """#)
        await expect(run("--only mising").0, is: .usage)
    }

    @Test("A catalog that cannot be checked is bad data, whatever --fail-on says")
    func unchecked() async throws {
        let absent = try Folder(["de": "A = a;"])
        let broken = try Folder(["de": "A = a;", "en": "A"])
        for folder in [absent, broken] {
            let terminal = Terminal()
            let code = await terminal.run(Program.commands, "catalog check \(folder.path) --fail-on missing")
            expect(code, is: .badData)
        }
    }

    @Test("A file that cannot be read exits with 65 and says where") func unreadable() async throws {
        let folder = try Folder(["en": "A = a;\nB"])
        let terminal = Terminal()
        await expect(terminal.run(Program.commands, "catalog check \(folder.path)"), is: .badData)
        #expect(
            terminal.output.split(separator: "\n")
                .contains("\(folder.path)/en.lproj/Localizable.strings:2:2: expected =, but the file ends"))
    }

    @Test("An invalid language is a usage error") func language() async {
        let terminal = Terminal()
        await expect(terminal.run(Program.commands, "catalog check /tmp --language e"), is: .usage)
        #expect(
            terminal.error.hasPrefix("pushmill: --language LOCALE: expected a locale such as en or pt-BR, found 'e'"))
    }
}
