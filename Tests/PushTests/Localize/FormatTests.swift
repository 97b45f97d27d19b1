import PushmillTestSupport
import Testing

@testable import PushmillLocalization

@Suite("Format strings")
struct FormatTests {
    /// The text of a key with this format.
    private func text(_ format: String, _ arguments: [String], locale: String = "en") throws -> String {
        let fixture = try CatalogFixture(["\(locale).lproj/Localizable.strings": "K = \"\(format)\";"])
        return try fixture.catalog(defaultLocale: locale).text("K", arguments, locale)
    }

    @Test(
        "Arguments are taken in order or by position",
        arguments: [
            ("%@ and %@", ["a", "b"], "a and b"), ("%2$@ %1$@", ["a", "b"], "b a"), ("%1$@%1$@", ["a"], "aa"),
            ("%@", [""], ""), ("%@", ["{contact:c1} %@ 50%"], "{contact:c1} %@ 50%"), ("plain", [], "plain"),
            ("%2$@ %@", ["a", "b"], "b a"), ("%@", ["1e2"], "1e2"), ("👍 %@ é", ["ü"], "👍 ü é"),
        ])
    func arguments(format: String, arguments: [String], expected: String) throws {
        try expect(text(format, arguments), is: expected)
    }

    @Test(
        "A percent sign may be doubled or stand alone in prose",
        arguments: [
            ("%@: 50%% off", ["Shop"], "Shop: 50% off"), ("100%", [], "100%"),
            ("50 % rabais %@", ["x"], "50 % rabais x"),
            ("100%. Done", [], "100%. Done"), ("(5%)", [], "(5%)"), ("5%, %@", ["x"], "5%, x"),
            ("%%%@%%", ["x"], "%x%"),
            ("20% when %@", ["x"], "20% when x"),
            // Turkish writes the sign before the number, which is not a width.
            ("%50 bonus: %@", ["x"], "%50 bonus: x"), ("%300 bonus: %@", ["x"], "%300 bonus: x"),
            ("%1000", [], "%1000"),
        ])
    func percent(format: String, arguments: [String], expected: String) throws {
        try expect(text(format, arguments), is: expected)
    }

    @Test(
        "Integers are grouped, padded and signed as printf does",
        arguments: [
            ("%d", "1234567", "1,234,567"), ("%i", "-5", "-5"), ("%ld", "0", "0"),
            ("%lld", "-9223372036854775808", "-9,223,372,036,854,775,808"),
            ("%u", "18446744073709551615", "18,446,744,073,709,551,615"), ("%5d|", "42", "   42|"),
            ("%5d|", "123", "  123|"),
            ("%-5d|", "42", "42   |"),
            ("%05d", "42", "00042"), ("%05d", "-42", "-0042"), ("%+d", "42", "+42"), ("% d", "42", " 42"),
            ("%+d", "-42", "-42"),
            ("%.3d", "7", "007"), ("%6.3d", "-7", "  -007"), ("%08d", "1234567", "01234567"), ("%3d", "1234", "1,234"),
            ("%d", "+7", "7"), ("%d", "-0", "0"), ("%d", "1e3", "1,000"), ("%d", "12.0", "12"),
            ("%'d", "1234", "1,234"), ("%12d|", "1234567", "   1,234,567|"), ("%12d|", "-1234", "      -1,234|"),
            ("%hhd", "300", "300"), ("%qd", "1", "1"), ("%zd", "1", "1"), ("%-05d|", "42", "42   |"),
        ])
    func integers(format: String, argument: String, expected: String) throws {
        try expect(text(format, [argument]), is: expected)
    }

    @Test(
        "Fractions are rounded as printf does",
        arguments: [
            ("%f", "1.5", "1.500000"), ("%.2f", "1234.5", "1,234.50"), ("%.0f", "2.5", "2"), ("%.0f", "3.5", "4"),
            ("%.1f", "-0.05", "-0.1"), ("%8.2f|", "3.14159", "    3.14|"), ("%08.2f", "-3.14159", "-0003.14"),
            ("%-8.1f|", "3.14159", "3.1     |"), ("%+.1f", "2", "+2.0"), ("%.2f", "1e2", "100.00"),
            ("%.3f", "7", "7.000"),
            ("%.f", "7.6", "8"), ("%.2F", "0.125", "0.12"),
        ])
    func fractions(format: String, argument: String, expected: String) throws {
        try expect(text(format, [argument]), is: expected)
    }

    @Test("The longest numbers are written in full")
    func largest() throws {
        try expect(text("%.99f", ["1e308"]).utf8.count, is: 309 + 102 + 1 + 99)
        #expect(try text("%255.99f", ["-1e308"]).hasPrefix("-100"))
    }

    @Test(
        "Texts are padded and cut by characters",
        arguments: [
            ("%5@|", "é", "    é|"), ("%-5@|", "日本", "日本   |"), ("%.2@", "日本語", "日本"), ("%4.1@|", "ab", "   a|"),
        ])
    func paddedTexts(format: String, argument: String, expected: String) throws {
        try expect(text(format, [argument]), is: expected)
    }

    @Test("Only a precision cuts a text, however long it is", arguments: [255, 256, 300])
    func longTexts(count: Int) throws {
        let text = String(repeating: "é", count: count)
        try expect(self.text("%5@|%-5@|", [text, text]), is: "\(text)|\(text)|")
        try expect(self.text("%5.99@|", [text]), is: "\(text.prefix(99))|")
    }

    @Test(
        "Numbers are written in the locale's style",
        arguments: [
            ("de", "%d %.2f", ["1234567", "-1234.5"], "1.234.567 -1.234,50"), ("ar", "%d", ["1234"], "١٬٢٣٤"),
            ("hi", "%d", ["1234567"], "12,34,567"), ("fa", "%05d", ["42"], "۰۰۰۴۲"),
            ("sv", "%d", ["-1234"], "−1\u{A0}234"),
            ("ar", "%5d|", ["-7"], "  \u{61C}-٧|"),
            ("en-US-POSIX", "%d %.1f", ["1234567", "-12345.5"], "1234567 -12345.5"),
            // Languages unknown to ICU get this format whatever the process's own locale is.
            ("tlh", "%d %.1f", ["1234567", "-12345.5"], "1,234,567 -12,345.5"),
            ("tlh-DE", "%d %.1f", ["1234567", "-12345.5"], "1,234,567 -12,345.5"),
        ])
    func localNumbers(locale: String, format: String, arguments: [String], expected: String) throws {
        try expect(text(format, arguments, locale: locale), is: expected)
    }

    @Test(
        "Numbers follow the recipient's region, also in texts of another language",
        arguments: [
            ("es-MX", "es 12,345.5"), ("es-ES", "es 12.345,5"), ("es", "es 12.345,5"), ("ar-MA", "ar 12.345,5"),
            ("ar-EG", "ar ١٢٬٣٤٥٫٥"), ("de-CH", "de 12’345.5"), ("de-AT", "de 12\u{A0}345,5"), ("de-DE", "de 12.345,5"),
            ("en-IN", "en 12,345.5"), ("fr-CH", "en 12’345.5"), ("fr", "en 12,345.5"),
            ("en-DE", "en 12.345,5"), ("ar-EG-u-nu-arab, en", "ar ١٢٬٣٤٥٫٥"), ("ar-MA@numbers=arab", "ar ١٢٬٣٤٥٫٥"),
            ("ar@numbers=latn", "ar 12,345.5"), ("fa-IR-u-nu-arab", "en 12,345.5"),
            ("en-US-u-rg-dezzzz", "en 12.345,5"),
            ("en_US@calendar=gregorian;rg=dezzzz", "en 12.345,5"), ("de_DE@rg=chzzzz;numbers=latn", "de 12’345.5"),
            ("xx, de-CH", "de 12’345.5"),
            ("ku-TR", "ku 12.345,5"), ("kmr-TR", "ku 12.345,5"),
        ])
    func regionalNumbers(wishes: String, expected: String) throws {
        let files = ["en", "de", "es", "ar", "ku"].map { ("\($0).lproj/Localizable.strings", "K = \"\($0) %d|%.1f\";") }
        let catalog = try CatalogFixture(Dictionary(uniqueKeysWithValues: files)).catalog()
        let text = catalog.text("K", ["12345", "12345.5"], wishes)
        expect(text.split(separator: "|").last.map { expected.hasSuffix($0) }, is: true, "\(text)")
        #expect(text.hasPrefix(expected.prefix(2)))
    }

    @Test("Digit groups follow the region too, also in a text that the reader's language lacks")
    func regionalGroups() throws {
        let catalog = try CatalogFixture([
            "en-GB.lproj/Localizable.strings": "K = \"%d\";", "en.lproj/Localizable.strings": "K = \"%d\"; L = \"%d\";",
            "de.lproj/Localizable.strings": "K = \"%d\";", "en-CH.lproj/Localizable.strings": "K = \"%d\";",
        ]).catalog()
        expect(catalog.text("K", ["1234567"], "en-IN"), is: "12,34,567")
        expect(catalog.text("L", ["1234567"], "en-IN"), is: "12,34,567")
        expect(catalog.text("L", ["1234567"], "de-CH"), is: "1’234’567")
        expect(catalog.text("L", ["1234567"], "de"), is: "1,234,567")
        expect(catalog.text("K", ["1234567"], "de-CH"), is: "1’234’567")
        expect(catalog.text("K", ["1234567"], "en-CH"), is: "1’234’567")
    }

    @Test(
        "A text found by a later wish still has the number format of the recipient's region",
        arguments: [
            ("en-IN", "gb 12,34,567"), ("en-IN,en-GB;q=0.9,en-US;q=0.8,en;q=0.7", "en 12,34,567"),
            ("en-IN,en-GB;q=0.9", "gb 12,34,567"), ("en-CH, en", "en 1’234’567"), ("en-GB, en-IN", "gb 1,234,567"),
        ])
    func siblings(wishes: String, expected: String) throws {
        let catalog = try CatalogFixture([
            "en.lproj/Localizable.strings": "K = \"en %d\";", "en-GB.lproj/Localizable.strings": "K = \"gb %d\";",
        ]).catalog()
        expect(catalog.text("K", ["1234567"], wishes), is: expected)
    }

    @Test(
        "Too few or wrong arguments leave the key to the device",
        arguments: [
            ("%@ %@", ["a"]), ("%@", []), ("%3$@", ["a", "b"]), ("%d", ["many"]), ("%d", ["many", "1"]),
            ("%d", ["1.5"]), ("%d", [""]), ("%d", ["-"]), ("%d", ["1 "]), ("%d", ["0x1F"]), ("%f", ["nan"]),
            ("%f", ["inf"]),
            ("%f", ["1e999"]), ("%d", ["99999999999999999999"]), ("%x", ["1"]), ("%c", ["a"]), ("%*d", ["1", "2"]),
            ("%s", ["a"]),
        ])
    func wrongArguments(format: String, arguments: [String]) throws {
        try expect(text(format, arguments), is: "[arguments]")
    }

    @Test(
        "Arguments that a translation does not use are ignored, whatever they are",
        arguments: [
            ("%@", ["a", "b"], "a"), ("plain", ["a"], "plain"), ("%2$@", ["a", "b", "c"], "b"),
            ("%d", ["1", "many"], "1"), ("%@", [String](repeating: "a", count: 40), "a"),
        ])
    func surplus(format: String, arguments: [String], expected: String) throws {
        try expect(text(format, arguments), is: expected)
    }

    @Test("A format may use thirty-two arguments")
    func manyArguments() throws {
        let texts = (1...32).map { "\($0)" }
        try expect(text(texts.map { "%\($0)$@" }.joined(separator: " "), texts), is: texts.joined(separator: " "))
    }

    @Test("An output without room for a text reports that it is full, wherever it was cut", arguments: 0...5)
    func cut(capacity: Int) {
        let isFull = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { memory in
            var output = FormatOutput(memory)
            output.append(Array("ab".utf8))
            output.append(UInt8(ascii: "c"))
            output.appendSpaces(1)
            return output.isFull
        }
        expect(isFull, is: (capacity < 4))
    }

    @Test("A whole number with a fraction or exponent counts as an integer below 2^53")
    func wholeDoubles() throws {
        try expect(text("%d", ["9007199254740991.0"]), is: "9,007,199,254,740,991")
        try expect(text("%d", ["-9007199254740991e0"]), is: "-9,007,199,254,740,991")
        try expect(text("%d", ["9007199254740992.0"]), is: "[arguments]")
        for zero in ["0.0", "-0.0", "0e3", "+0"] { try expect(text("%+d", [zero]), is: "+0") }
        try expect(text("%.0f", ["9007199254740992.0"]), is: "9,007,199,254,740,992")
    }

    @Test("A number of 400 characters is not accepted", arguments: [(399, "1"), (400, "[arguments]")])
    func longest(count: Int, expected: String) throws {
        try expect(text("%d", ["1." + String(repeating: "0", count: count - 2)]), is: expected)
    }
}
