import PushmillTestSupport
import Testing

@testable import PushmillLocalization

@Suite("String Catalogs")
struct StringCatalogTests {
    private func catalog(_ strings: String, locale: String = "en") throws -> Catalog {
        let file = #"{"sourceLanguage": "en", "version": "1.0", "strings": {\#(strings)}}"#
        return try CatalogFixture(["Localizable.xcstrings": file]).catalog()
    }

    private static func unit(_ value: String, state: String = "translated") -> String {
        #"{"stringUnit": {"state": "\#(state)", "value": "\#(value)"}}"#
    }

    private static func plural(_ one: String, _ other: String) -> String {
        #"{"plural": {"one": \#(unit(one)), "other": \#(unit(other))}}"#
    }

    @Test("A key without a value in the source language is its own text")
    func ownText() throws {
        let catalog = try catalog(
            #""Just %@": {}, "Only German": {"localizations": {"de": \#(Self.unit("Nur"))}}, "Empty": {"localizations": {"en": \#(Self.unit("", state: "new"))}}"#
        )
        expect(catalog.text("Just %@", ["me"]), is: "Just me")
        expect(catalog.text("Only German"), is: "Only German")
        expect(catalog.text("Only German", [], "de"), is: "Nur")
        expect(catalog.text("Just %@", ["me"], "de"), is: "Just me")
        expect(catalog.text("Empty"), is: "Empty")
    }

    @Test("An empty translation in state `new` counts as missing")
    func new() throws {
        let catalog = try catalog(
            #""K": {"localizations": {"en": \#(Self.unit("text")), "de": \#(Self.unit("", state: "new")), "fr": \#(Self.unit(""))}}"#
        )
        expect(catalog.text("K", [], "de"), is: "text")
        expect(catalog.text("K", [], "fr"), is: "")
    }

    @Test("A translation with an empty form in state `new` counts as missing")
    func begun() throws {
        let new = Self.unit("", state: "new")
        let half = #"{"variations": {"plural": {"one": \#(Self.unit("%lld Datei")), "other": \#(new)}}}"#
        let parts =
            #"{"stringUnit": {"value": "%#@n@"}, "substitutions": {"n": {"argNum": 1, "formatSpecifier": "lld",\#(half.dropFirst())}}"#
        let whole = #"{"variations": \#(Self.plural("%lld file", "%lld files"))}"#
        for german in [half, parts] {
            let catalog = try catalog(#""N": {"localizations": {"en": \#(whole), "de": \#(german)}}"#)
            expect(catalog.text("N", ["1"], "de"), is: "1 file")
        }
    }

    @Test("Plural variations choose by the first number, whatever its position")
    func plural() throws {
        let catalog = try catalog(
            #"""
            "LIKES": {"localizations": {"en": {"variations": \#(Self.plural("%lld like", "%lld likes"))}}},
            "WHO": {"localizations": {"en": {"variations": \#(Self.plural("%@ has %lld like", "%@ has %lld likes"))}}},
            "SWAPPED": {"localizations": {"en": {"variations": \#(Self.plural("%2$lld like of %1$@", "%2$lld likes of %1$@"))}}}
            """#)
        expect(catalog.text("LIKES", ["1"]), is: "1 like")
        expect(catalog.text("LIKES", ["12"]), is: "12 likes")
        expect(catalog.text("WHO", ["Bob", "1"]), is: "Bob has 1 like")
        expect(catalog.text("SWAPPED", ["Bob", "2"]), is: "2 likes of Bob")
        expect(catalog.text("WHO", ["1", "Bob"]), is: "[arguments]")
    }

    @Test(
        "The iPhone's variation is preferred, then `other`, then any device's, also around plurals",
        arguments: [
            (#""mac": M, "iphone": I, "other": O"#, "I"), (#""mac": M, "other": O"#, "O"), (#""mac": M"#, "M"),
        ])
    func devices(variations: String, expected: String) throws {
        var texts = variations
        for letter in ["M", "I", "O"] { texts = texts.replacing(": \(letter)", with: ": \(Self.unit(letter))") }
        let catalog = try catalog(
            #""K": {"localizations": {"en": {"variations": {"device": {\#(texts)}}}}}, "P": {"localizations": {"en": {"variations": {"device": {"iphone": {"variations": \#(Self.plural("%d tap", "%d taps"))}, "other": \#(Self.unit("%d clicks"))}}}}}"#
        )
        expect(catalog.text("K"), is: expected)
        expect(catalog.text("P", ["2"]), is: "2 taps")
    }

    @Test("Each substitution has its own argument, specifier and forms")
    func substitutions() throws {
        let catalog = try catalog(
            #"""
            "FILES": {"localizations": {"en": {"stringUnit": {"state": "translated", "value": "%#@files@ in %2$@"}, "substitutions": {
              "files": {"argNum": 1, "formatSpecifier": "lld", "variations": \#(Self.plural("%arg file", "%arg files"))}}}}},
            "BOTH": {"localizations": {"en": {"stringUnit": {"state": "translated", "value": "%#@a@ and %#@b@"}, "substitutions": {
              "b": {"argNum": 2, "formatSpecifier": "lld", "variations": \#(Self.plural("%arg dog", "%arg dogs"))},
              "a": {"argNum": 1, "formatSpecifier": "lld", "variations": \#(Self.plural("%arg cat", "%arg cats"))}}}}},
            "MIXED": {"localizations": {"en": {"stringUnit": {"state": "translated", "value": "%#@n@ from %@"}, "substitutions": {
              "n": {"argNum": 1, "variations": \#(Self.plural("one", "%arg"))}}}}}
            """#)
        expect(catalog.text("FILES", ["2", "Docs"]), is: "2 files in Docs")
        expect(catalog.text("FILES", ["1", "Docs"]), is: "1 file in Docs")
        expect(catalog.text("BOTH", ["1", "2000"]), is: "1 cat and 2,000 dogs")
        expect(catalog.text("MIXED", ["3", "Bob"]), is: "3 from Bob")
    }

    @Test("Each `%arg` of a text shows the substitution's argument")
    func repeated() throws {
        let catalog = try catalog(
            #"""
            "K": {"localizations": {"en": {"stringUnit": {"state": "translated", "value": "%#@n@ from %2$@"}, "substitutions": {
              "n": {"argNum": 1, "formatSpecifier": "lld", "variations": \#(Self.plural("%arg file", "%arg files (%arg)"))}}}}}
            """#)
        expect(catalog.text("K", ["2", "Bob"]), is: "2 files (2) from Bob")
    }

    @Test("A text with `%arg` outside a substitution is left to the device", arguments: [40, 256, 300])
    func misplaced(count: Int) throws {
        let other = String(repeating: "%arg ", count: count) + "%lld likes"
        let catalog = try catalog(
            #""K": {"localizations": {"en": {"variations": \#(Self.plural("%lld like", other))}}}"#)
        expect(catalog.text("K", ["1"]), is: "1 like")
        expect(catalog.text("K", ["2"]), is: "[arguments]")
    }

    @Test("A plural after a substitution chooses by the number that its text shows")
    func behindSubstitution() throws {
        func catalog(argument: Int) throws -> Catalog {
            try self.catalog(
                #"""
                "K": {"localizations": {"en": {"variations": \#(Self.plural("%#@x@, %lld like", "%#@x@, %lld likes")), "substitutions": {
                  "x": {"argNum": \#(argument), "formatSpecifier": "lld", "variations": \#(Self.plural("%arg file", "%arg files"))}}}}}
                """#)
        }
        let second = try catalog(argument: 2)
        expect(second.text("K", ["Bob", "2", "1"]), is: "2 files, 1 like")
        expect(second.text("K", ["Bob", "1", "2"]), is: "1 file, 2 likes")
        for argument in [33, 257, Int.max] {
            #expect(throws: CatalogError.self) { try catalog(argument: argument) }
        }
    }
}
