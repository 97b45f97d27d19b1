import FoundationEssentials
import PushmillTestSupport
import Testing

@testable import PushmillLocalization

@Suite("Mutated catalogs")
struct CatalogMutationTests {
    private static let samples: [(path: String, contents: [UInt8])] = {
        let strings = #"/* x */ "A" = "%1$@ in %2$@"; B = "\U00e9 %.2f %05d %#@n@"; { C = 'c'; } // y"#
        let dict = """
            <?xml version="1.0"?><!DOCTYPE plist><plist><dict><key>N</key><dict><key>NSStringLocalizedFormatKey</key>
            <string>%1$@ &amp; %2$#@n@</string><key>n</key><dict><key>NSStringFormatSpecTypeKey</key>
            <string>NSStringPluralRuleType</string><key>NSStringFormatValueTypeKey</key><string>d</string>
            <key>one</key><string>%arg<![CDATA[ x]]></string><key>other</key><string>%d %#@m@</string></dict>
            <key>m</key><dict><key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>
            <key>other</key><string>%d</string></dict></dict></dict></plist>
            """
        let catalog = #"""
            {"sourceLanguage": "en", "strings": {"Key %@": {}, "P": {"localizations": {"en": {"variations": {"device":
            {"iphone": {"variations": {"plural": {"one": {"stringUnit": {"value": "%lld"}}, "other": {"stringUnit":
            {"value": "%lld %#@s@"}}}}}}}, "substitutions": {"s": {"argNum": 1, "formatSpecifier": "lld", "variations":
            {"plural": {"other": {"stringUnit": {"value": "%arg"}}}}}}}, "de": {"stringUnit": {"value": "%2$@ %1$d"}}}}}}
            """#
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let binary = (try? encoder.encode(["A": ["B": "%@", "C": "é"], "D": ["E": "f"]])).map { Array($0) } ?? []
        return [
            ("a.strings", Array(strings.utf8)), ("b.stringsdict", Array(dict.utf8)),
            ("c.xcstrings", Array(catalog.utf8)),
            ("d.strings", binary),
            ("e.strings", [0xFF, 0xFE] + strings.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }),
        ]
    }()

    /// What replaces bytes, besides random bytes.
    private static let pieces = [
        "%", "%#@n@", "%1$", "%99999999999999999999d", "%*.*f", "\"", "\\", "\\U", "{", "}", ";", "=", "<", "</",
        "<![CDATA[",
        "]]>", "<!--", "&#x110000;", "<dict>", "<string>", "other", "\u{0}", "\u{FEFF}", "[", ",", ":", "\\ud800",
        "1e999",
    ].map { Array($0.utf8) }

    @Test(
        "Mutated files give tables or problems, and every key that was read is found", arguments: [1, 2, 3, 4])
    func mutations(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let arguments = ["", "1", "x", "-7.5", "1e300", "99999999999999999999", "é"]
        for _ in 0..<2_000 {
            let (path, contents) = Self.samples[Int.random(in: 0..<Self.samples.count, using: &random)]
            var bytes = contents
            for _ in 0..<Int.random(in: 1...6, using: &random) { Self.mutate(&bytes, &random) }
            var reader = CatalogReader()
            reader.read(bytes, of: path, locale: path.hasSuffix(".xcstrings") ? nil : .english)
            for table in reader.finish("") {
                let catalog = try Catalog([table], of: "", defaultLocale: table.locale)
                for (key, _) in table.keys.prefix(20) {
                    let count = Int.random(in: 0...3, using: &random)
                    let chosen = (0..<count).compactMap { _ in arguments.randomElement(using: &random) }
                    #expect(catalog.text(String(decoding: key, as: UTF8.self), chosen) != "[missing]")
                }
            }
            for problem in reader.problems { #expect(!problem.description.isEmpty) }
        }
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        let at = Int.random(in: 0..<bytes.count, using: &random)
        let end = min(bytes.count, at + Int.random(in: 0...8, using: &random))
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.removeSubrange(at..<end)
        case 2: bytes.insert(contentsOf: bytes[at..<end], at: Int.random(in: 0...bytes.count, using: &random))
        case 3: bytes.removeLast(bytes.count - at)
        default: bytes.replaceSubrange(at..<end, with: pieces.randomElement(using: &random) ?? [])
        }
    }
}
