import PushmillTestSupport
import Testing

@testable import PushmillLocalization
@testable import PushmillStages

@Suite("A catalog that becomes malformed")
struct CatalogReloadTests {
    private static let strings = "en.lproj/Localizable.strings"
    private static let dict = "en.lproj/Localizable.stringsdict"

    private static func variable(_ name: String, _ forms: String) -> String {
        """
        <key>\(name)</key><dict><key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>\(forms)</dict>
        """
    }

    private static func entry(_ variables: String...) -> String {
        """
        <plist><dict><key>K</key><dict>
        <key>NSStringLocalizedFormatKey</key><string>%#@n@</string>
        \(variables.joined(separator: "\n"))
        </dict></dict></plist>
        """
    }

    private static func utf16(_ text: String) -> [UInt8] {
        [0xFE, 0xFF] + text.utf16.reduce(into: []) { $0 += [UInt8($1 >> 8), UInt8($1 & 0xFF)] }
    }

    private static let truncated = Array("<plist><dict>\n<key>K</key><string>te".utf8)
    private static let withoutOther = Array(entry(variable("n", "<key>one</key><string>1</string>")).utf8)
    private static let recursive = Array(
        entry(
            variable("n", "<key>other</key><string>%#@m@</string>"),
            variable("m", "<key>other</key><string>%#@n@</string>")
        ).utf8)

    @Test(
        "A malformed catalog is reported with its position, and the old texts stay in use",
        arguments: [
            (dict, truncated, ":2:13: the element is not closed"),
            (dict, Array("bplist00 and no more".utf8), ": not a valid binary property list"),
            (dict, withoutOther, ":3:13: n has no form \"other\""),
            (dict, recursive, "the variable n contains itself"),
            (
                strings, [0xEF, 0xBB, 0xBF] + Array("K = t;\nL = \"%#@n@\";".utf8),
                ":2:5: %#@n@ names no variable of this key"
            ),
            (
                strings, utf16("K = t;\nL = "),
                ":2:5: expected a value"
            ),
            (strings, [0xFE, 0xFF, 0, 0x4B, 0], ":1:2: the UTF-16 text is truncated"),
            ("Localizable.xcstrings", Array("{\n\"sourceLanguage\": \"en\",".utf8), ":2:24: not JSON"),
        ] as [(String, [UInt8], String)])
    func reload(path: String, contents: [UInt8], problem: String) async throws {
        let fixture = try CatalogFixture(["en.lproj/Localizable.strings": "NEWS = \"You have news\";"])
        let file = try ReloadableFile(path: fixture.folder) { path, _ in
            CatalogInUse(try Catalog(folder: path, defaultLocale: .english))
        }
        let chain = Chain([ChainLink(LocalizeStage(catalog: file, localeSources: []))])
        try fixture.write(path, contents)
        guard case .failed(let reason) = file.reload(.request) else {
            Issue.record("it was read")
            return
        }
        #expect(reason.hasPrefix("\(fixture.folder)/\(path)"))
        #expect(reason.contains(problem), "\(reason)")
        await expect(Message(alert: #"{"loc-key":"NEWS"}"#).publish(chain)?.alert, is: #"{"body":"You have news"}"#)
    }
}
