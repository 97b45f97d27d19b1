import FoundationEssentials
import Testing

@testable import Pushmill

@Suite("catalog check")
struct CatalogCommandTests {
    /// A catalog of one `.strings` file for each language, gone after the test.
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

    @Test("A complete catalog exits with 0") func complete() async throws {
        let folder = try Folder(["de": "A = a;", "en": "A = a;"])
        let terminal = Terminal()
        #expect(await terminal.run(Program.commands, "catalog check \(folder.path)") == .success)
        #expect(terminal.output == "de: keys: 1, findings: 0\nen: keys: 1, findings: 0")
    }

    @Test("What is missing exits with 1, by the language it is held against") func missing() async throws {
        let folder = try Folder(["de": "A = a; B = b;", "en": "A = a;"])
        let terminal = Terminal()
        #expect(await terminal.run(Program.commands, "catalog check \(folder.path) --language de") == .different)
        #expect(terminal.output == "de: keys: 2, findings: 0\nen: \"B\" is missing\nen: keys: 1, findings: 1")
    }

    @Test("What cannot be read exits with 65 and says where") func unreadable() async throws {
        let folder = try Folder(["en": "A = a;\nB"])
        let terminal = Terminal()
        #expect(await terminal.run(Program.commands, "catalog check \(folder.path)") == .badData)
        #expect(
            terminal.output.split(separator: "\n").first
                == "\(folder.path)/en.lproj/Localizable.strings:2:2: expected =, but the file ends")
    }

    @Test("A language that is none is a mistake") func language() async {
        let terminal = Terminal()
        #expect(await terminal.run(Program.commands, "catalog check /tmp --language e") == .usage)
        #expect(
            terminal.error.hasPrefix("pushmill: --language LOCALE: expected a locale such as en or pt-BR, found 'e'"))
    }
}
