import PushmillTestSupport
import Testing

@testable import PushmillLocalization

@Suite("Plurals and variables")
struct PluralTests {
    private static func stringsdict(_ entries: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0"><dict>\(entries)</dict></plist>
        """
    }

    private static func entry(_ key: String, _ format: String, _ variables: String...) -> String {
        "<key>\(key)</key><dict><key>NSStringLocalizedFormatKey</key><string>\(format)</string>\(variables.joined())</dict>"
    }

    private static func variable(_ name: String, type: String = "d", _ forms: [(String, String)]) -> String {
        let forms = forms.map { "<key>\($0)</key><string>\($1)</string>" }.joined()
        return """
            <key>\(name)</key><dict><key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>
            <key>NSStringFormatValueTypeKey</key><string>\(type)</string>\(forms)</dict>
            """
    }

    private let catalog: Catalog

    init() throws {
        let photos = [("zero", "no photos"), ("one", "%d photo"), ("other", "%d photos")]
        let english = Self.stringsdict(
            Self.entry("PHOTOS", "%1$@ sent %2$#@n@", Self.variable("n", photos))
                + Self.entry(
                    "NESTED", "%#@files@",
                    Self.variable("files", [("one", "%d file in %#@folders@"), ("other", "%d files in %#@folders@")]),
                    Self.variable("folders", [("one", "%d folder"), ("other", "%d folders")]))
                + Self.entry(
                    "TWO", "%#@a@, %#@b@ by %@", Self.variable("a", [("one", "%d a"), ("other", "%d as")]),
                    Self.variable("b", [("one", "%d b"), ("other", "%d bs")]))
                + Self.entry(
                    "ARG", "%#@n@", Self.variable("n", type: ".1f", [("one", "%arg mile"), ("other", "%arg miles")]))
                + Self.entry(
                    "OUTER", "%2$#@n@", Self.variable("n", [("one", "%1$@ has %2$d"), ("other", "%1$@ have %2$d")])))
        let polish = Self.stringsdict(
            Self.entry(
                "PHOTOS", "%1$@ %2$#@n@",
                Self.variable("n", [("one", "%d one"), ("few", "%d few"), ("other", "%d other")])))
        let french = Self.stringsdict(
            Self.entry("PHOTOS", "%1$@ %2$#@n@", Self.variable("n", [("one", "%d photo"), ("other", "%d photos")])))
        catalog = try CatalogFixture([
            "en.lproj/Localizable.stringsdict": english, "pl.lproj/Localizable.stringsdict": polish,
            "fr.lproj/Localizable.stringsdict": french,
        ]).catalog()
    }

    @Test(
        "A number chooses the plural form by the language's rules",
        arguments: [
            ("en", "1", "Bob sent 1 photo"), ("en", "2", "Bob sent 2 photos"), ("en", "1000", "Bob sent 1,000 photos"),
            ("pl", "1", "Bob 1 one"), ("pl", "3", "Bob 3 few"), ("fr", "0", "Bob 0 photo"), ("fr", "2", "Bob 2 photos"),
        ])
    func forms(locale: String, number: String, expected: String) {
        expect(catalog.text("PHOTOS", ["Bob", number], locale), is: expected)
    }

    @Test("Aliases of a language have its plural rules", arguments: ["kmr", "ku", "kmr-TR"])
    func aliases(tag: String) throws {
        let forms = [("one", "%d one"), ("other", "%d other")]
        let file = Self.stringsdict(Self.entry("K", "%#@n@", Self.variable("n", forms)))
        let catalog = try CatalogFixture(["\(tag).lproj/Localizable.stringsdict": file]).catalog(defaultLocale: tag)
        expect(catalog.text("K", ["1"], ""), is: "1 one")
        expect(catalog.text("K", ["2"], ""), is: "2 other")
        expect(catalog.text("K", ["1"], "ku-TR"), is: "1 one")
    }

    @Test(
        "A language unknown to ICU uses the form for other, and for 0 the one for zero",
        arguments: [("0", "none"), ("1", "1 other"), ("2", "2 other"), ("1234567", "1,234,567 other")])
    func unknown(number: String, expected: String) throws {
        let forms = [("zero", "none"), ("one", "%d one"), ("two", "%d two"), ("other", "%d other")]
        let file = Self.stringsdict(Self.entry("K", "%#@n@", Self.variable("n", forms)))
        let catalog = try CatalogFixture(["tlh.lproj/Localizable.stringsdict": file]).catalog(defaultLocale: "tlh")
        expect(catalog.text("K", [number], "tlh"), is: expected)
        expect(catalog.text("K", [number], "tlh-DE"), is: expected)
    }

    @Test("A form for zero serves 0 even if the language has no such form")
    func zero() {
        expect(catalog.text("PHOTOS", ["Bob", "0"]), is: "Bob sent no photos")
        expect(catalog.text("PHOTOS", ["Bob", "-0"]), is: "Bob sent no photos")
        expect(catalog.text("PHOTOS", ["Bob", "10"]), is: "Bob sent 10 photos")
    }

    @Test("A missing form falls back to the one for other")
    func other() {
        expect(catalog.text("PHOTOS", ["Bob", "5"], "pl"), is: "Bob 5 other")
        expect(catalog.text("PHOTOS", ["Bob", "1000000"], "fr"), is: "Bob 1\u{202F}000\u{202F}000 photos")
    }

    @Test(
        "A non-number takes the form for other, failing if that needs a number", arguments: ["many", "", "1,000", "١"])
    func noNumbers(text: String) throws {
        let forms = [("zero", "none"), ("one", "%@ photo"), ("other", "%@ photos")]
        let file = Self.stringsdict(Self.entry("K", "%#@n@", Self.variable("n", forms)))
        let other = try CatalogFixture(["en.lproj/Localizable.stringsdict": file]).catalog()
        expect(other.text("K", [text]), is: "\(text) photos")
        expect(other.text("K", ["1"]), is: "1 photo")
        expect(catalog.text("PHOTOS", ["Bob", text]), is: "[arguments]")
    }

    @Test("A variable within a variable takes the next argument")
    func nested() {
        expect(catalog.text("NESTED", ["1", "2"]), is: "1 file in 2 folders")
        expect(catalog.text("NESTED", ["3", "1"]), is: "3 files in 1 folder")
    }

    @Test("Variables and other specifiers take the arguments in order")
    func turns() { expect(catalog.text("TWO", ["1", "2", "Bob"]), is: "1 a, 2 bs by Bob") }

    @Test("%arg shows the variable's argument in the variable's format")
    func argument() {
        expect(catalog.text("ARG", ["1"]), is: "1.0 mile")
        expect(catalog.text("ARG", ["2.54"]), is: "2.5 miles")
    }

    @Test("A position within a variable counts from the format's first argument")
    func positions() { expect(catalog.text("OUTER", ["We", "2"]), is: "We have 2") }
}
