import PushmillTestSupport
import Testing

@testable import PushmillLocalization
@testable import PushmillPayload

@Suite("Looking up a translation")
struct LocaleSearchTests {
    private let catalog: Catalog

    init() throws {
        catalog = try CatalogFixture([
            "en.lproj/Localizable.strings": "A = \"en %@\"; B = en; C = en;",
            "en-GB.lproj/Localizable.strings": "A = \"gb %@\";",
            "pt.lproj/Localizable.strings": "A = \"pt %@\"; B = pt;",
            "pt-PT.lproj/Localizable.strings": "A = \"pt-PT %@\";",
            "zh-Hant.lproj/Localizable.strings": "A = \"繁 %@\";", "zh-Hans.lproj/Localizable.strings": "A = \"简 %@\";",
        ]).catalog()
    }

    @Test(
        "The recipient's locale list is matched as on iOS",
        arguments: [
            ("en-IN", "gb x"), ("en", "en x"), ("zh-TW", "繁 x"), ("zh", "简 x"), ("pt-AO", "pt-PT x"), ("pt-BR", "pt x"),
            ("xx, pt;q=0.8, en;q=0.5", "pt x"), ("en_GB", "gb x"),
        ])
    func match(wishes: String, expected: String) { expect(catalog.text("A", ["x"], wishes), is: expected) }

    @Test(
        "A recipient without a matching locale gets the default",
        arguments: ["", "ko", "\u{1}", "*", String(repeating: "ko,", count: 999)])
    func unserved(wishes: String) { expect(catalog.text("A", ["x"], wishes), is: "en x") }

    @Test("A key missing in a locale comes from its truncation, then from the default locale")
    func lacking() {
        expect(catalog.text("B", [], "pt-PT"), is: "pt")
        expect(catalog.text("C", [], "pt-PT"), is: "en")
        expect(catalog.text("C", [], "zh-TW"), is: "en")
        expect(catalog.text("D", [], "pt-PT"), is: "[missing]")
        expect(catalog.text("", [], "pt-PT"), is: "[missing]")
    }

    @Test("A missing key is first searched in the locale's script, even one that its tag omits")
    func scripts() throws {
        let catalog = try CatalogFixture([
            "en.lproj/Localizable.strings": "A = en; B = en;", "zh-TW.lproj/Localizable.strings": "A = \"台\";",
            "zh-Hant.lproj/Localizable.strings": "A = \"繁\"; B = \"繁\";",
            "zh.lproj/Localizable.strings": "A = \"简\"; B = \"简\";",
        ]).catalog()
        expect(catalog.text("A", [], "zh-TW"), is: "台")
        for wish in ["zh-TW", "zh-Hant-TW", "zh-Hant"] { expect(catalog.text("B", [], wish), is: "繁", "for \(wish)") }
        expect(catalog.text("B", [], "zh"), is: "简")
    }

    @Test("A choice is remembered per exact list, for at most 4096 lists")
    func choices() {
        var choices = RecentValues<LocaleChoice>(capacity: 4096)
        let some = (0..<7).map { LocaleChoice(catalog: catalog, table: $0 % catalog.tables.count) }
        for number in 0..<100_000 {
            Array("x-\(number)".utf8).withUnsafeBytes { list in
                #expect(choices[list] == nil)
                choices[list] = some[number % 7]
                #expect(choices[list] === some[number % 7])
            }
        }
        let remembered = (0..<100_000).filter { number in
            Array("x-\(number)".utf8).withUnsafeBytes { choices[$0] } != nil
        }
        #expect(remembered.count <= 4096)
    }
}
