import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillLocalization
@testable import PushmillStages

@Suite("Imperfect but usable catalogs")
struct ImperfectCatalogTests {
    private func warnings(_ fixture: CatalogFixture) throws -> [String] {
        try fixture.catalog().warnings.map { String($0.description.dropFirst(fixture.folder.utf8.count + 1)) }
    }

    @Test("The last of duplicate keys counts, with a warning at its position")
    func keyTwice() throws {
        let fixture = try CatalogFixture([
            "en.lproj/Localizable.strings": "a = \"one %@\";\r\nb = b;\r\n a = \"two %d\";\na = three;",
            "en.lproj/Other.strings": "a = elsewhere; c = c;",
        ])
        try expect(fixture.catalog().text("a"), is: "three")
        try expect(fixture.catalog().text("b"), is: "b")
        try expect(fixture.catalog().text("c"), is: "c")
        try expect(
            warnings(fixture),
            is: [
                #"en.lproj/Localizable.strings:3:2: the key "a" occurs twice; the last is used"#,
                #"en.lproj/Localizable.strings:4:1: the key "a" occurs twice; the last is used"#,
            ])
    }

    @Test("Each of ten thousand duplicate keys is reported with its own position")
    func manyTwice() throws {
        let lines = (0..<10_000).map { "  \"the key number \($0)\" = \"é\";" }
        let twice = lines.joined(separator: "\r\n") + "\r\n" + lines.joined(separator: "\n")
        let fixture = try CatalogFixture(["en.lproj/Localizable.strings": twice])
        let found = try warnings(fixture)
        let expected = (10_001...20_000).map { "en.lproj/Localizable.strings:\($0):3: the key" }
        #expect(found.count == expected.count && zip(found, expected).allSatisfy { $0.hasPrefix($1) })
    }

    @Test("The last duplicate also counts in a String Catalog and among plural forms")
    func othersTwice() throws {
        let catalog = """
            {"sourceLanguage": "en", "strings": {"K": {"localizations": {"en": {"stringUnit": {"value": "x"}},
            "en": {"stringUnit": {"value": "y"}}}},
            "L": {"localizations": {"iw": {"stringUnit": {"value": "old"}}, "he": {"stringUnit": {"value": "new"}}}}}}
            """
        let dict = """
            <plist><dict><key>N</key><dict><key>NSStringLocalizedFormatKey</key><string>%#@n@</string><key>n</key><dict>
            <key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>
            <key>other</key><string>%d a</string><key>other</key><string>%d b</string></dict></dict></dict></plist>
            """
        let fixture = try CatalogFixture(["Localizable.xcstrings": catalog, "en.lproj/Localizable.stringsdict": dict])
        try expect(fixture.catalog().text("K"), is: "y")
        try expect(fixture.catalog().text("L", [], "he"), is: "new")
        try expect(fixture.catalog().text("N", ["2"]), is: "2 b")
        try expect(
            warnings(fixture),
            is: [
                "en.lproj/Localizable.stringsdict:3:38: the form other occurs twice; the last is used",
                #"Localizable.xcstrings:2:1: the key "K" occurs twice; the last is used"#,
                #"Localizable.xcstrings:3:65: the key "L" occurs twice; the last is used"#,
            ])
    }

    @Test(
        "A folder of an old project, named by a language's English name, is that language",
        arguments: [("English", "en"), ("German", "de"), ("french", "fr")])
    func oldFolders(name: String, tag: String) throws {
        let catalog = try CatalogFixture(["\(name).lproj/Localizable.strings": "K = text;"]).catalog(defaultLocale: tag)
        expect(catalog.text("K", [], tag), is: "text")
        expect(catalog.tables.map(\.locale.icuName), is: [tag])
    }

    @Test("Base.lproj is in the default language unless that language has the file itself")
    func base() throws {
        let alone = try CatalogFixture(["Base.lproj/Localizable.strings": "K = base;"])
        try expect(alone.catalog().text("K", [], "de"), is: "base")
        try expect(alone.catalog(defaultLocale: "fr").text("K"), is: "base")
        let report = CatalogReport(folder: alone.folder, development: try locale("de"))
        expect(report.problems, is: [])
        expect(report.locales.map(\.name.description), is: ["de"])

        let files = [
            "Base.lproj/Localizable.strings": "K = base; L = base;", "de.lproj/Localizable.strings": "K = de;",
        ]
        let others = try CatalogFixture(files)
        try expect(others.catalog().text("L", [], "de"), is: "base")
        try expect(others.catalog().text("K", [], "de"), is: "de")
        try others.write("en.lproj/Localizable.strings", Array("K = en;".utf8))
        try expect(others.catalog().text("K"), is: "en")
        try expect(others.catalog().text("L"), is: "[missing]")
    }

    @Test("Base.lproj supplies a table for which the default language has no file")
    func baseTables() throws {
        let fixture = try CatalogFixture([
            "Base.lproj/Localizable.strings": "K = base; L = base;", "Base.lproj/Push.strings": "P = base;",
            "en.lproj/InfoPlist.strings": "CFBundleName = App;",
        ])
        try expect(fixture.catalog().text("K"), is: "base")
        try expect(fixture.catalog().text("CFBundleName"), is: "App")
        let dict = "<plist><dict><key>K</key><string>dict</string></dict></plist>"
        try fixture.write("en.lproj/Localizable.stringsdict", Array(dict.utf8))
        try expect(fixture.catalog().text("K"), is: "dict")
        try expect(fixture.catalog().text("L"), is: "base")
        let catalog = #"{"sourceLanguage": "en", "strings": {"C": {}}}"#
        try fixture.write("Localizable.xcstrings", Array(catalog.utf8))
        try expect(fixture.catalog().text("L"), is: "[missing]")
        try expect(fixture.catalog().text("P"), is: "base")
    }

    @Test("Hidden files, which Mac archives and editors leave behind, are ignored")
    func hidden() throws {
        let fixture = try CatalogFixture(["en.lproj/Localizable.strings": "K = en;"])
        let attributes: [UInt8] = [0x00, 0x05, 0x16, 0x07, 0x00, 0x02, 0x00, 0x00] + Array("Mac OS X".utf8)
        for path in ["._en.lproj", "._Localizable.xcstrings", "en.lproj/._Localizable.strings"] {
            try fixture.write(path, attributes)
        }
        expect(fixture.problems(), is: [])
        try expect(fixture.catalog().text("K"), is: "en")
    }

    @Test("The service logs the first ten warnings and the number of the rest")
    func logged() async throws {
        let twice = (0..<30).map { "k\($0) = a; k\($0) = b;" }.joined(separator: "\n")
        let fixture = try CatalogFixture(["en.lproj/Localizable.strings": twice])
        var settings = SettingReader(["stages": [["localize": ["catalog": Setting(stringLiteral: fixture.folder)]]]])
        let stages = StageRegistry().read("stages", from: &settings)
        let lines = Mutex<[String]>([])
        let resources = StageResources { severity, line in
            if severity == .warning { lines.withLock { $0.append(line) } }
        }
        _ = try await stages.first?.build(resources)
        let logged = lines.withLock { $0 }
        expect(logged.count, is: 11)
        expect(
            logged.first?.hasSuffix(#"en.lproj/Localizable.strings:1:9: the key "k0" occurs twice; the last is used"#),
            is: true)
        expect(logged.last?.hasSuffix(": 20 more warnings: `pushmill catalog check` lists them"), is: true)
    }
}
