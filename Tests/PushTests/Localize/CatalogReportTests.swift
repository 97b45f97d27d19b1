import PushmillTestSupport
import Testing

@testable import PushmillLocalization

@Suite("Catalog report")
struct CatalogReportTests {
    private func lines(_ files: [String: String], development: String = "en") throws -> [String] {
        let fixture = try CatalogFixture(files)
        let report = CatalogReport(folder: fixture.folder, development: try locale(development))
        let problems = report.problems.map { String($0.description.dropFirst(fixture.folder.utf8.count + 1)) }
        return problems + report.locales.flatMap { locale in locale.findings.map { "\(locale.name): \($0)" } }
    }

    private static func plural(_ key: String, _ forms: [String]) -> String {
        let forms = forms.map { "<key>\($0)</key><string>%d</string>" }.joined()
        return """
            <plist><dict><key>\(key)</key><dict><key>NSStringLocalizedFormatKey</key><string>%#@n@</string>
            <key>n</key><dict><key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>\(forms)</dict>
            </dict></dict></plist>
            """
    }

    @Test("A complete catalog has no findings")
    func complete() throws {
        let files = ["en", "de"].map { ("\($0).lproj/Localizable.strings", "A = \"%@ %d\"; B = b;") }
        try expect(lines(Dictionary(uniqueKeysWithValues: files)), is: [])
    }

    @Test("A missing key is reported unless a truncation of the locale has it")
    func missing() throws {
        try expect(
            lines([
                "en.lproj/Localizable.strings": "A = a; B = b;", "en-GB.lproj/Localizable.strings": "C = c;",
                "de.lproj/Localizable.strings": "B = b;", "de-AT.lproj/Localizable.strings": "",
                "pt-PT.lproj/Localizable.strings": "X = x;",
            ]),
            is: [
                #"de: "A" is missing"#, #"pt-PT: "A" is missing"#, #"pt-PT: "B" is missing"#,
            ])
    }

    @Test("Arguments that differ from the development language are reported")
    func arguments() throws {
        try expect(
            lines([
                "en.lproj/Localizable.strings": "A = \"%@ %d\"; B = \"%@\"; C = \"%2$@ %1$@\"; D = d;",
                "de.lproj/Localizable.strings": "A = \"%d %@\"; B = b; C = \"%@ %@\"; D = \"%3$.1f\";",
            ]),
            is: [
                #"de: "A" takes %1$d %2$@, but %1$@ %2$d in the development language"#,
                #"de: "B" takes no arguments, but %1$@ in the development language"#,
                #"de: "D" takes %1$(unused) %2$(unused) %3$f, but no arguments in the development language"#,
            ])
    }

    @Test("A key missing in the development language is compared with the first locale that has it")
    func argumentsOfOthers() throws {
        try expect(
            lines([
                "en.lproj/Localizable.strings": "A = a;", "de.lproj/Localizable.strings": "A = a; B = \"%d\";",
                "fr.lproj/Localizable.strings": "A = a; B = \"%@ %d\";",
                "pl.lproj/Localizable.strings": "A = a; B = \"%ld\";",
            ]), is: [#"fr: "B" takes %1$@ %2$d, but %1$d in de"#])
    }

    @Test("A text argument is reported if another language chooses a plural form by it")
    func textForPlural() throws {
        try expect(
            lines([
                "en.lproj/Localizable.stringsdict": Self.plural("N", ["one", "other"]),
                "de.lproj/Localizable.strings": "N = \"%@ Fotos\"; M = m;",
                "ja.lproj/Localizable.strings": "N = \"写真%d枚\";",
            ]),
            is: [
                #"de: "N" takes %1$@, but %1$d in the development language"#,
                #"de: "N" takes %1$@ as text, but it chooses the plural form in en"#,
            ])
    }

    @Test("Missing plural forms that a language needs for counts are reported")
    func forms() throws {
        try expect(
            lines([
                "en.lproj/Localizable.stringsdict": Self.plural("N", ["other"]),
                "pl.lproj/Localizable.stringsdict": Self.plural("N", ["one", "other"]),
                "ru.lproj/Localizable.stringsdict": Self.plural("N", ["one", "few", "many", "other"]),
                "ja.lproj/Localizable.stringsdict": Self.plural("N", ["other"]),
                "fr.lproj/Localizable.stringsdict": Self.plural("N", ["one", "other"]),
            ]), is: [#"en: "N" lacks the plural form one"#, #"pl: "N" lacks the plural form few, many"#])
    }

    @Test("A text argument that chooses the plural form of its own text is right")
    func pluralByText() throws {
        let forms = #""one": {"stringUnit": {"value": "%arg one"}}, "other": {"stringUnit": {"value": "%arg others"}}"#
        let catalog = """
            {"sourceLanguage": "en", "strings": {"N": {"localizations": {"en": {"stringUnit": {"value": "%#@n@"},
            "substitutions": {"n": {"argNum": 1, "formatSpecifier": "@", "variations": {"plural": {\(forms)}}}}}}}}}
            """
        try expect(lines(["Localizable.xcstrings": catalog]), is: [])
    }

    @Test("A key marked as not to be translated is not reported as missing")
    func untranslated() throws {
        let catalog = """
            {"sourceLanguage": "en", "strings": {"A": {"shouldTranslate": false}, "B": {"shouldTranslate": true},
            "C": {"localizations": {"de": {"stringUnit": {"value": "c"}}}}}}
            """
        try expect(lines(["Localizable.xcstrings": catalog]), is: [#"de: "B" is missing"#])
    }

    @Test("Unreadable files are reported with their position, and the rest without them")
    func unreadable() throws {
        try expect(
            lines([
                "en.lproj/Localizable.strings": "A = a;", "de.lproj/Localizable.strings": "A = a;\nB = %",
                "fr.lproj/Localizable.strings": "Z = z;",
            ]),
            is: [
                "de.lproj/Localizable.strings:2:5: expected a string or a dictionary", #"fr: "A" is missing"#,
            ])
        try expect(
            lines(["de.lproj/Localizable.strings": "A = a;"]).map {
                $0.hasSuffix("no texts in the development language en")
            }, is: [true])
        try expect(lines(["de.lproj/Localizable.strings": "A = a;"], development: "de"), is: [])
    }
}
