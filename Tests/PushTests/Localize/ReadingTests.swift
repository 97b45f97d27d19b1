import FoundationEssentials
import PushmillTestSupport
import Testing

@testable import PushmillLocalization

@Suite("Catalog files")
struct ReadingTests {
    private func text(_ strings: [UInt8], _ key: String, _ arguments: [String] = []) throws -> String {
        let fixture = try CatalogFixture()
        try fixture.write("en.lproj/Localizable.strings", strings)
        return try fixture.catalog().text(key, arguments)
    }

    @Test(
        "Old-style property lists are read in all their forms",
        arguments: [
            (#""K" = "value";"#, "value"), (#"K = value;"#, "value"), (#"{ K = value; }"#, "value"),
            (#"{ K = value }"#, "value"),
            (#"/* a */ "K" /* b */ = // c"# + "\n" + #""value" /* d */ ;"#, "value"), (#"K;"#, "K"),
            (#"'K' = 'it is "so"';"#, #"it is "so""#),
            (#""K" = "a\n\t\"\\\'b";"#, "a\n\t\"\\'b"), (#""K" = "\U00e9\u4e2d\Ud83d\ude00";"#, "é中😀"),
            (#""K" = "\101\0411";"#, "A!1"),
            ("\"K\" = \"two\nlines\";", "two\nlines"), (#""K"="";"#, ""), (#"a/b = 1; K = $x_1-2.3:4;"#, "$x_1-2.3:4"),
            ("// no newline at the end\nK=v;//", "v"), (#""K" = "%";"#, "%"), ("\u{2028}K\u{2029}= v;", "v"),
            (#""K" = "a\qb";"#, "aqb"), ("K = \"line \\\nend\";", "line \nend"),
        ])
    func oldStyle(file: String, expected: String) throws {
        try expect(text(Array(file.utf8), "K"), is: expected)
    }

    @Test("UTF-8 and UTF-16 files are read with and without a byte order mark")
    func encodings() throws {
        let file = #""K" = "é中😀 %@";"#
        let bigEndian = file.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        let littleEndian = file.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let utf8 = Array(file.utf8)
        for bytes in [
            utf8, [0xEF, 0xBB, 0xBF] + utf8, bigEndian, [0xFE, 0xFF] + bigEndian, littleEndian,
            [0xFF, 0xFE] + littleEndian,
        ] {
            try expect(text(bytes, "K", ["x"]), is: "é中😀 x")
        }
    }

    @Test(
        "XML property lists are read",
        arguments: [
            (
                "<key>K</key><string>a &lt;b&gt; &amp; &quot;c&quot; &apos;d&apos; &#233;&#x4E2D;</string>",
                #"a <b> & "c" 'd' é中"#
            ),
            ("<!-- x --><key>K</key><!-- y --><string>a<!-- z -->b</string>", "ab"), ("<key>K</key><string/>", ""),
            ("<key>K</key><string><![CDATA[<%@ & ]]>b</string>", "[arguments]"),
            ("<key>K</key>\n<string> a </string>", " a "),
        ])
    func xml(members: String, expected: String) throws {
        let file =
            "<?xml version=\"1.0\"?><!DOCTYPE plist PUBLIC \"x\" \"y\"><plist version='1.0'><dict>\(members)</dict></plist>\n"
        try expect(text(Array(file.utf8), "K"), is: expected)
    }

    @Test("Binary property lists, as in a built app, are read")
    func binary() throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        try expect(text(Array(try encoder.encode(["K": "é %@", "L": "l"])), "K", ["x"]), is: "é x")
    }

    @Test("A .stringsdict may vary by device and by width")
    func deviceAndWidth() throws {
        let file = """
            <plist version="1.0"><dict><key>D</key><dict><key>NSStringDeviceSpecificRuleType</key><dict>
            <key>mac</key><string>Click</string><key>iphone</key><string>Tap</string></dict></dict>
            <key>W</key><dict><key>NSStringVariableWidthRuleType</key><dict>
            <key>5</key><string>short</string><key>20</key><string>quite long</string></dict></dict></dict></plist>
            """
        let catalog = try CatalogFixture(["en.lproj/Localizable.stringsdict": file]).catalog()
        expect(catalog.text("D"), is: "Tap")
        expect(catalog.text("W"), is: "quite long")
    }

    @Test("A .stringsdict precedes a .strings file, and Localizable precedes other tables")
    func precedence() throws {
        let catalog = try CatalogFixture([
            "en.lproj/Localizable.strings": "A = strings; B = localizable;",
            "en.lproj/Another.strings": "B = another; C = another;",
            "en.lproj/Localizable.stringsdict": "<plist><dict><key>A</key><string>dict</string></dict></plist>",
            "Base.lproj/Localizable.strings": "D = base;", "en.lproj/README.txt": "not a catalog",
        ]).catalog()
        expect(catalog.text("A"), is: "dict")
        expect(catalog.text("B"), is: "localizable")
        expect(catalog.text("C"), is: "another")
        expect(catalog.text("D"), is: "[missing]")
    }
}
