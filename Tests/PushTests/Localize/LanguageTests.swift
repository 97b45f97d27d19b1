import PushmillTestSupport
import Testing

@testable import PushmillLocalization

@Suite("Languages compared with other implementations")
struct LanguageTests {
    private let reference: LocalizeReference

    init() throws { reference = try LocalizeReference.read() }

    @Test(
        "The stored reference matches what the other implementations give today",
        .enabled(if: LocalizeReference.canBeMade, "deploy/test installs them"))
    func madeAnew() {
        let comparison = LocalizeReference.compare()
        expect(comparison.status, is: 0, "\(comparison.said)")
    }

    @Test("Plural categories match CLDR in every language")
    func plurals() throws {
        #expect(reference.plurals.count >= 20)
        for (tag, categories) in reference.plurals {
            let rules = try #require(PluralRules(locale: try locale(tag)))
            for (number, expected) in categories {
                let text = Array(number.utf8)
                let category = try text.withUnsafeBufferPointer { rules.category(of: try #require(FormatNumber($0))) }
                expect("\(category.name)", is: expected, "\(number) in \(tag)")
            }
        }
    }

    @Test(
        "Integers beyond a double's precision choose by their last digits",
        arguments: [
            ("ru", "9007199254740993001", PluralCategory.one), ("ru", "9007199254740993002", .few),
            ("ru", "9007199254740993011", .many), ("fr", "9000000000000000000", .many), ("pl", "-3", .few),
            ("pl", "18446744073709551616", .many), ("pl", "1e22", .many), ("fr", "1e22", .many), ("fr", "1e5", .other),
        ])
    func largeNumbers(tag: String, number: String, expected: PluralCategory) throws {
        let rules = try #require(PluralRules(locale: try locale(tag)))
        let category = try Array(number.utf8).withUnsafeBufferPointer {
            rules.category(of: try #require(FormatNumber($0)))
        }
        expect(category, is: expected)
    }

    @Test("Numbers have the digits, groups and signs that ICU gives them")
    func numbers() throws {
        for (tag, texts) in reference.numbers {
            let symbols = try #require(NumberSymbols(locale: try locale(tag)))
            for (number, expected) in texts {
                let text = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { memory in
                    var output = FormatOutput(memory)
                    if number.contains(".") {
                        symbols.append(Double(number) ?? .nan, FormatLayout(precision: 2), to: &output)
                    } else {
                        symbols.append(
                            UInt64(abs(Int(number) ?? 0)), isNegative: number.hasPrefix("-"), .init(), to: &output)
                    }
                    return String(decoding: output.text, as: UTF8.self)
                }
                expect(text, is: expected, "\(number) in \(tag)")
            }
        }
    }

    @Test(
        "A locale's truncations shorten its tag from the end; underscores are accepted",
        arguments: [
            ("zh-Hant-HK", ["zh-Hant", "zh"]), ("pt_BR", ["pt"]), ("en", []), ("zh-HK", ["zh-Hant", "zh"]),
            ("sr_ME", ["sr"]), ("sr-RS", ["sr"]), ("zh-CN", ["zh"]), ("sh-BA", ["sh"]),
        ])
    func truncations(tag: String, shorter: [String]) throws {
        try expect(locale(tag).truncations.map(\.description), is: shorter)
    }

    @Test(
        "Two spellings of a locale are equal",
        arguments: [
            ("zh_hant", "zh-Hant"), ("en-us", "en-US"), ("iw", "he"), ("kmr", "ku"), ("kmr-TR", "ku-TR"), ("tl", "fil"),
            ("in-ID", "id-ID"), ("sh", "sr-Latn"), ("zh-TW", "zh-Hant-TW"), ("sh-BA", "sr-Latn-BA"), ("mo", "ro"),
        ])
    func canonicalNames(left: String, right: String) throws {
        try expect(locale(left), is: locale(right))
    }

    @Test(
        "Variants and extensions make a different locale with the same base name",
        arguments: [
            ("ca-ES-valencia", "ca-ES"), ("sl-rozaj", "sl"), ("de-DE-1996", "de-DE-1901"),
            ("ar-EG-u-nu-latn", "ar-EG"), ("zh-TW-u-nu-hant", "zh-TW"),
        ])
    func variants(left: String, right: String) throws {
        let (left, right) = (try locale(left), try locale(right))
        #expect(left != right && left.icuName != right.icuName)
        expect(left.baseName, is: right.baseName)
    }

    @Test("Invalid tags are not locales", arguments: ["", "x y", "français", "en-", "a-very-long-tag-but-not-one"])
    func noLocales(text: String) { #expect(LocaleName(text) == nil) }
}
