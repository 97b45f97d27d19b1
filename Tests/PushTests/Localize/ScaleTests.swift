import PushmillTestSupport
import Testing

@testable import PushmillLocalization

@Suite("Large catalogs")
struct ScaleTests {
    /// Unoptimized code needs more than a minute for a million keys.
    private static var keyCount: Int {
        #if DEBUG
            50_000
        #else
            1_000_000
        #endif
    }

    @Test("A file with a million keys is read, and its keys are found")
    func million() throws {
        var file: [UInt8] = []
        for number in 0..<Self.keyCount { file += "k\(number) = \"\(number) %@\";\n".utf8 }
        let fixture = try CatalogFixture()
        try fixture.write("en.lproj/Localizable.strings", file)
        let catalog = try fixture.catalog()
        expect(catalog.tables[0].count, is: Self.keyCount)
        for number in stride(from: 0, to: Self.keyCount, by: 997) {
            expect(catalog.text("k\(number)", ["x"]), is: "\(number) x")
        }
        expect(catalog.text("k\(Self.keyCount)", ["x"]), is: "[missing]")
    }

    @Test("Seventy locales of a String Catalog are read, each with its own text")
    func locales() throws {
        let tags = try LocalizeReference.read().plurals.keys.sorted().prefix(70)
        var file = #"{"sourceLanguage": "en", "version": "1.0", "strings": {"#
        for key in 0..<200 {
            let localizations = tags.map {
                #""\#($0)": {"stringUnit": {"state": "translated", "value": "\#($0) \#(key) %@"}}"#
            }
            file +=
                #"\#(key == 0 ? "" : ",")"KEY_\#(key)": {"localizations": {\#(localizations.joined(separator: ","))}}"#
        }
        let catalog = try CatalogFixture(["Localizable.xcstrings": file + "}}"]).catalog()
        expect(catalog.tables.count, is: tags.count)
        for tag in tags { expect(catalog.text("KEY_17", ["x"], tag), is: "\(tag) 17 x") }
    }
}
