import Glibc
import PushmillTestSupport
import Testing

@testable import PushmillLocalization

/// In these tables `‸` marks the position of the problem and is not part of the file.
@Suite("Malformed catalogs")
struct MalformedCatalogTests {
    private static let strings = "en.lproj/Localizable.strings"
    private static let dict = "en.lproj/Localizable.stringsdict"
    private static let xcstrings = "Localizable.xcstrings"

    private func problems(_ path: String, _ contents: [UInt8]) throws -> [String] {
        let fixture = try CatalogFixture(["en.lproj/Sound.strings": "sound = yes;"])
        try fixture.write(path, contents)
        return fixture.problems()
    }

    private func check(_ path: String, _ marked: String, _ message: String) throws {
        let parts = marked.split(separator: "‸", omittingEmptySubsequences: false)
        try #require(parts.count == 2)
        let lines = parts[0].replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false)
        let place = "\(lines.count):\((lines.last?.unicodeScalars.count ?? 0) + 1)"
        try expect(problems(path, Array(parts.joined().utf8)), is: ["\(path):\(place): \(message)"])
    }

    @Test(
        "A malformed .strings file is reported with the position",
        arguments: [
            ("\"a\" = \"b\"\n‸\"c\" = \"d\";", "expected ;"), ("a = b;\n\n  c ‸b;", "expected ="),
            ("a = ‸\"b;\n", "the string is not terminated"), ("a = b; ‸/* c", "the comment is not terminated"),
            ("{ a = b;‸", "expected a key or }, but the file ends"), ("a = b; ‸}", "expected a key"),
            ("a =‸", "expected a value, but the file ends"), ("a = ‸(b, c);", "expected a string or a dictionary"),
            ("a = ‸<00>;", "expected a string or a dictionary"), ("‸é = b;", "expected a key"),
            ("a = \"é‸\\U12\";", "\\U needs four hexadecimal digits of a character"),
            ("a = \"‸\\Ud83d\";", "\\U needs four hexadecimal digits of a character"),
            ("a = \"‸\\Ud83d\\U0041\";", "\\U needs four hexadecimal digits of a character"),
            ("a = \"‸\\377\";", "an octal escape beyond \\177; write the character itself"),
            ("a = b;\r\nc = d;\r\n‸é = e;", "expected a key"),
            ("a = ‸{ b = c; };", "no NSStringLocalizedFormatKey"),
            ("a = ‸\"%#@n@\";", "%#@n@ names no variable of this key"),
            (String(repeating: "a = { ", count: 15) + "a = ‸{", "nested too deeply"),
        ])
    func strings(marked: String, message: String) throws { try check(Self.strings, marked, message) }

    @Test(
        "A text with an unknown specifier is left to the device, with a warning",
        arguments: [
            ("%Y-%m-%d", "%Y"), ("x %y", "%y"), ("%1$z", "%1$z"), ("%33$@", "%33$@"), ("%999d", "%999d"),
            ("%#@n", "%#"), ("%#@@", "%#"), ("100%l", "%l"),
        ])
    func unknownSpecifiers(text: String, specifier: String) throws {
        let fixture = try CatalogFixture([
            Self.strings: "a = b; c = \"\(text)\";", "de.lproj/Localizable.strings": "c = \"schön\";",
        ])
        let catalog = try fixture.catalog()
        let warning = "\(try #require(catalog.warnings.first))"
        #expect(warning.hasSuffix("1:12: unknown specifier \(specifier): the text is left to the device"), "\(warning)")
        expect(catalog.text("a", [], "en"), is: "b")
        expect(catalog.text("c", [], "en"), is: "[arguments]")
        expect(catalog.text("c", [], "de"), is: "schön")
    }

    @Test("A plural form with an unknown specifier or value type is left to the device")
    func unknownInPlurals() throws {
        func plural(_ type: String, _ form: String) -> String {
            """
            {"sourceLanguage": "en", "strings": {"K": {"localizations": {"en": {"stringUnit": {"value": "%#@n@"},
            "substitutions": {"n": {"formatSpecifier": "\(type)", "variations": {"plural": {
            "one": {"stringUnit": {"value": "\(form)"}}, "other": {"stringUnit": {"value": "some"}}}}}}}}}}}
            """
        }
        for (type, form) in [("k", "%arg"), ("lld", "%k")] {
            let catalog = try CatalogFixture([Self.xcstrings: plural(type, form)]).catalog()
            expect(catalog.warnings.count, is: 1)
            expect(catalog.text("K", ["1"], "en"), is: "[arguments]")
            expect(catalog.text("K", ["2"], "en"), is: "some")
        }
    }

    @Test("An encoding error in a .strings file is reported with its position")
    func encodings() throws {
        let latin1 = Array("a = b;\nc = \"".utf8) + [0xE9, 0x22, 0x3B]
        try expect(
            problems(Self.strings, latin1), is: ["\(Self.strings):2:6: the text is neither UTF-8 nor UTF-16"])
        let cut = "the UTF-16 text is truncated here, or has half a surrogate pair"
        try expect(problems(Self.strings, [0xFE, 0xFF, 0, 0x61, 0]), is: ["\(Self.strings):1:2: \(cut)"])
        try expect(problems(Self.strings, [0xFF, 0xFE, 0x3D, 0xD8, 0x61, 0]), is: ["\(Self.strings):1:1: \(cut)"])
        let units = "a = b;\r\né = 😀".utf16.dropLast()
        let lines = [0xFF, 0xFE] + units.flatMap { unit -> [UInt8] in [UInt8(unit & 0xFF), UInt8(unit >> 8)] }
        try expect(problems(Self.strings, lines), is: ["\(Self.strings):2:5: \(cut)"])
        try expect(problems(Self.strings, [0xFF, 0xFE]), is: [])
        try expect(problems(Self.strings, []), is: [])
        let binary = Array("bplist00 and no more".utf8)
        try expect(problems(Self.strings, binary), is: ["\(Self.strings): not a valid binary property list"])
    }

    @Test(
        "A binary property list that contains itself is rejected",
        arguments: ["en.lproj/Localizable.strings", "en.lproj/Localizable.stringsdict"])
    func endless(path: String) throws {
        /// A dictionary whose only key, `K`, has the object `value` as its value: 0 is the dictionary, 1 the key.
        func list(value: UInt8) -> [UInt8] {
            var list = Array("bplist00".utf8)
            list += [0xD1, 1, value, 0x51, 0x4B]
            // The two objects' offsets, the sizes of numbers, the object count, the top object, the table's offset.
            list += [8, 11]
            list += [0, 0, 0, 0, 0, 0, 1, 1]
            for number: UInt8 in [2, 0, 13] { list += [0, 0, 0, 0, 0, 0, 0, number] }
            return list
        }
        try expect(problems(path, list(value: 1)), is: [])
        try expect(problems(path, list(value: 0)), is: ["\(path): not a valid binary property list"])
    }

    /// Twelve dictionaries, each with the next one under both its keys; the texts of the two keys follow.
    @Test("A binary property list that expands far beyond its file's size is rejected")
    func unfolded() throws {
        let path = "en.lproj/Localizable.stringsdict"
        let count: UInt8 = 12
        var list = Array("bplist00".utf8)
        for number in 0..<count { list += [0xD2, count, count + 1, number + 1, number + 1] }
        list += [0x51, 0x4B, 0x51, 0x4C]
        list += (0..<count).map { 8 + 5 * $0 } + [68, 70]
        list += [0, 0, 0, 0, 0, 0, 1, 1]
        for number: UInt8 in [count + 2, 0, 72] { list += [0, 0, 0, 0, 0, 0, 0, number] }
        try expect(problems(path, list), is: ["\(path): not a valid binary property list"])
    }

    @Test(
        "A malformed XML property list is reported with the position",
        arguments: [
            ("<plist><dict>\n<key>a</key>‸<string>b", "the element is not closed"),
            ("<plist><dict>\n<key>a</key>‸", "expected a tag, but the file ends"),
            ("<plist><dict><key>a</key><string>b‸</strin>", "expected </string>"),
            ("<plist><dict>‸<string>b</string>", "expected <key>"), ("‸<html/>", "expected <plist>"),
            ("‸<plist/>", "expected <plist>"),
            ("<plist>‸<dict></array></plist>", "the container is closed by the wrong tag"),
            ("<plist><dict/></plist> ‸x", "text after </plist>"),
            ("<plist><dict><key>a</key>‸text</dict>", "expected a tag"),
            ("<plist><dict><key>a</key><string>‸&nope;</string>", "unknown entity &nope;"),
            ("<plist><dict><key>a</key><string>a ‸& b</string>", "& begins an entity; write &amp;"),
            ("<plist><dict><key>a</key><string>‸&#xD800;</string>", "unknown entity &#xD800;"),
            ("<plist><dict><key>a</key><string>‸&#1114112;</string>", "unknown entity &#1114112;"),
            ("<plist><dict><key>a</key><string>‸&#+65;</string>", "unknown entity &#+65;"),
            ("<plist><dict><key>a</key><string>‸&#x+41;</string>", "unknown entity &#x+41;"),
            ("<plist><dict><key>a</key><string>‸&#-1;</string>", "unknown entity &#-1;"),
            ("<plist><dict><key>a</key><string>‸&#-0;</string>", "unknown entity &#-0;"),
            ("<plist><dict><key>a</key><string>‸&#x0;</string>", "unknown entity &#x0;"),
            ("‸<!-- x", "the file ends before -->"),
            ("<plist><dict><key>a</key>‸<what/></dict>", "<what> is not a property list value"),
            ("‸<plist", "the tag is not terminated"),
            ("<plist><dict><key>a</key>‸</dict>", "expected a value, found </dict>"),
            ("<plist><dict><key>a</key><string><![CDATA[‸x</string>", "the CDATA section is not terminated"),
            ("<plist>" + String(repeating: "<array>", count: 16) + "‸<array>", "nested too deeply"),
            ("<plist>" + String(repeating: "<dict><key>a</key>", count: 16) + "‸<dict>", "nested too deeply"),
            ("<plist>‸<array/></plist>", "expected a dictionary"),
            ("<plist><dict><key>a</key>‸<integer>1</integer></dict></plist>", "expected a string or a dictionary"),
        ])
    func xml(marked: String, message: String) throws { try check(Self.dict, marked, message) }

    @Test(
        "An inconsistent .stringsdict is reported with the position",
        arguments: [
            ("%d", "‸<dict></dict>", "the variable n is missing NSStringFormatSpecTypeKey NSStringPluralRuleType"),
            ("%#@n@", "‸<dict>TYPE<key>one</key><string>1</string></dict>", "n has no form \"other\""),
            ("%#@n@", "<dict>TYPE‸<key>ones</key><string>1</string></dict>", "ones is not a plural form"),
            ("%#@n@", "<dict>TYPE<key>one</key>‸<dict/></dict>", "the form one is not a string"),
            ("%#@n@", "<dict>TYPE<key>other</key>‸<string>%#@n@</string></dict>", "the variable n contains itself"),
            (
                "%#@n@", "<dict>TYPE<key>other</key>‸<string>%#@m@</string></dict>",
                "%#@m@ names no variable of this key"
            ),
        ])
    func stringsdict(format: String, variable: String, message: String) throws {
        let type = "<key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>"
        let marked = """
            <plist><dict>
            <key>K</key><dict><key>NSStringLocalizedFormatKey</key><string>\(format)</string>
            <key>n</key>\(variable.replacing("TYPE", with: type))</dict></dict></plist>
            """
        try check(Self.dict, marked, message)
    }

    @Test("Variables that contain themselves, nest too deep or expand to too much are rejected")
    func recursion() throws {
        func problems(_ forms: [String]) throws -> [String] {
            let variables = forms.enumerated().map { level, form in
                """
                <key>v\(level)</key><dict><key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>
                <key>one</key><string>\(form)</string><key>other</key><string>\(form)</string></dict>
                """
            }
            let format = "<key>NSStringLocalizedFormatKey</key><string>%#@v0@</string>"
            let file = "<plist><dict><key>K</key><dict>\(format)\(variables.joined())</dict></dict></plist>"
            return try self.problems(Self.dict, Array(file.utf8)).compactMap {
                $0.split(separator: ": ").last.map(String.init)
            }
        }
        try expect(problems(["%#@v1@", "%1$#@v2@", "%1$#@v0@"]), is: ["the variable v0 contains itself"])
        let chain = (1...11).map { "%1$#@v\($0)@" } + ["end"]
        try expect(problems(chain), is: ["variables are nested deeper than 8"])
        let wide = (1...7).map { String(repeating: "%1$#@v\($0)@", count: 16) } + ["%d"]
        try expect(problems(wide), is: ["the expanded variables are too large"])
        let long = [String(repeating: "%1$#@v1@", count: 20), String(repeating: "x", count: 60_000)]
        try expect(problems(long), is: ["the expanded variables are too large"])
    }

    @Test(
        "A malformed String Catalog is reported with the position",
        arguments: [
            ("‸", "not JSON: unexpected end"), ("{\n \"a\": ‸}", "not JSON: unexpected byte"),
            ("‸[]", "no sourceLanguage"),
            ("‸{}", "no sourceLanguage"), (#"{‸"sourceLanguage": "x y", "strings": {}}"#, "x y is not a language tag"),
            (#"‸{"sourceLanguage": "en"}"#, "no strings"), (#"‸{"sourceLanguage": "en", "strings": []}"#, "no strings"),
            (String(repeating: "[", count: 128) + "‸[", "nested too deeply"),
        ])
    func catalog(marked: String, message: String) throws { try check(Self.xcstrings, marked, message) }

    @Test(
        "An inconsistent localization is reported with the position",
        arguments: [
            (#""en": {‸"stringUnit": {"state": "translated"}}"#, "the string unit has no value"),
            (#""en": {‸"variations": {"width": {}}}"#, "expected variations by plural or by device"),
            (#""en": {"variations": {‸"device": {}}}"#, "no device"),
            (
                #""en": {"variations": {‸"plural": {"one": {"stringUnit": {"value": "1"}}}}}"#,
                "the plural has no form \"other\""
            ),
            (
                #""en": {"variations": {"plural": {‸"ones": {"stringUnit": {"value": "1"}}}}}"#,
                "ones is not a plural form"
            ),
            (
                #""en": {"variations": {"plural": {‸"one": {"variations": {"plural": {"other": {"stringUnit": {"value": "1"}}}}}}}}"#,
                "a plural within a plural"
            ),
            (#""en": {"stringUnit": {"value": "x"}, "substitutions": {‸"n": {}}}"#, "the substitution n has no text"),
            (#""en": {"stringUnit": {"value": "x"}, "substitutions": {"n": {‸"argNum": 0}}}"#, "argNum starts at 1"),
            (#"‸"fr fr": {}"#, "fr fr is not a language tag"),
        ])
    func localization(marked: String, message: String) throws {
        let start = "{\"sourceLanguage\": \"en\",\n \"strings\": {\n  \"K\": {\"localizations\": {\n"
        try check(Self.xcstrings, start + marked + "}}}}", message)
    }

    @Test("All problems are reported at once")
    func all() throws {
        let fixture = try CatalogFixture([
            "en.lproj/Localizable.strings": "a = \"%#@m@\"; b = \"%#@n@\";", "de.lproj/Localizable.strings": "a",
            "not a tag.lproj/x.strings": "", "Localizable.xcstrings": "{",
        ])
        expect(
            fixture.problems(),
            is: [
                "not a tag.lproj: the folder's name is not a language tag",
                "Localizable.xcstrings:1:2: not JSON: unexpected end",
                "de.lproj/Localizable.strings:1:2: expected =, but the file ends",
                "en.lproj/Localizable.strings:1:5: %#@m@ names no variable of this key",
                "en.lproj/Localizable.strings:1:18: %#@n@ names no variable of this key",
            ])
    }

    @Test("A pipe among the files is reported and not opened, as it may never have a writer")
    func pipe() throws {
        let fixture = try CatalogFixture([Self.strings: "a = b;"])
        try #require(mkfifo("\(fixture.folder)/\(Self.dict)", 0o600) == 0)
        expect(fixture.problems(), is: ["\(Self.dict): is a pipe, not a file"])
    }

    @Test("A file that cannot be read is reported")
    func unreadable() throws {
        let fixture = try CatalogFixture([Self.strings: "a = b;"])
        try #require(symlink("gone", "\(fixture.folder)/\(Self.dict)") == 0)
        expect(fixture.problems(), is: ["\(Self.dict): No such file or directory"])
    }

    @Test("A missing folder, or one without the default locale, is rejected")
    func missing() throws {
        let fixture = try CatalogFixture(["de.lproj/Localizable.strings": "a = b;"])
        #expect(throws: CatalogError.self) { try fixture.catalog() }
        try expect(fixture.catalog(defaultLocale: "de").text("a", [], "en"), is: "b")
        let name = try locale("en")
        let error = #expect(throws: CatalogError.self) { try Catalog(folder: "/nowhere/at/all", defaultLocale: name) }
        expect(error?.description, is: "/nowhere/at/all: cannot read the folder: No such file or directory")
    }
}
