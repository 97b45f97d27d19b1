import PushmillTestSupport
import Testing

@testable import PushmillLocalization
@testable import PushmillStages

struct ContactTextTests {
    @Test(
        "A name loses characters that would disturb the text around it",
        arguments: [
            ("Zoë Martin", "Zoë Martin"), ("plain", "plain"), ("", ""), ("Bad\u{202E}Guy\u{0}\u{7}!", "BadGuy!"),
            ("\u{2066}x\u{2069}\u{202A}\u{202C}", "x"), ("two\nlines\tand\u{2028}more\u{85}!", "two lines and more !"),
            ("\u{7F}\u{9F}\u{80}", ""), (" \n ", ""), ("\u{200E}mark", "\u{200E}mark"), ("👩‍👧", "👩‍👧"),
            ("a\u{0301}", "a\u{0301}"), ("\u{3000}", ""), ("\u{A0}\u{2003} ", ""), ("\u{3164}", ""), ("\u{2800}", ""),
            ("\u{200B}\u{FEFF}\n\u{200F}", ""), ("山田\u{3000}太郎", "山田\u{3000}太郎"),
        ])
    func cleaning(_ name: String, _ expected: String) {
        expect(String(decoding: ContactName.clean(name.utf8Span.span.bytes), as: UTF8.self), is: expected)
    }

    @Test("Invalid UTF-8 in a name becomes U+FFFD")
    func invalidName() {
        let bytes: [UInt8] = [0x61, 0xFF, 0x62]
        expect(String(decoding: ContactName.clean(bytes.span.bytes), as: UTF8.self), is: "a\u{FFFD}b")
    }

    @Test(
        "A text has the direction of its first letter",
        arguments: [
            ("", 0), ("12 + 3!", 0), ("🦊 7", 0), ("Zoë", 1), ("1. Zoë", 1), ("Мама", 1), ("日本", 1), ("علي", 2),
            ("3 שלום", 2), ("\u{200F}!", 2), ("a", 1), ("z", 1), ("A", 1), ("Z", 1), ("@[`{", 0), ("Zoë علي", 5),
            ("علي Zoë", 6), ("𐤀", 2), ("\u{2068}a\u{2069}א", 2), ("\u{2066}a\u{2067}א\u{2069}b", 0), ("\u{2069}a", 1),
        ] as [(String, UInt8)])
    func direction(_ text: String, _ expected: UInt8) {
        let bytes = Array(text.utf8)
        expect(TextDirection(of: bytes.span).rawValue, is: expected)
        var isolates = 0
        expect(TextDirection(ofFirstLetterIn: bytes.span, inside: &isolates).rawValue, is: expected & 3)
    }

    @Test(
        "The first and last letters of a block have its direction, and their neighbors do not",
        arguments: [
            ("a", 1), ("z", 1), ("A", 1), ("Z", 1), ("@", 0), ("[", 0), ("`", 0), ("{", 0), ("\u{7C0}", 2),
            ("\u{800}", 2), ("\u{10000}", 1), ("\u{10800}", 2),
        ] as [(String, UInt8)])
    func edges(_ text: String, _ expected: UInt8) {
        let bytes = Array(text.utf8)
        expect(TextDirection(of: bytes.span).rawValue, is: expected)
        // A part of a letter is not a letter, and the text after it is still read.
        for count in 1..<max(1, bytes.count) {
            expect(TextDirection(of: Array(bytes[..<count]).span).rawValue, is: 0)
            expect(TextDirection(of: ([bytes[count]] + Array("a".utf8)).span).rawValue, is: 1)
        }
    }

    @Test("Random bytes never trap and have a valid direction or none", arguments: 0..<100)
    func anyBytes(_ seed: UInt64) {
        var state = seed
        let bytes = (0..<20).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
        #expect(TextDirection(of: bytes.span).rawValue < 7)
    }

    private static func isolated(_ name: String) -> String { "\u{2068}\(name)\u{2069}" }

    @Test(
        "A name whose direction differs from its text's is isolated",
        arguments: [
            ("{contact:c2} says hi", isolated("علي حسن") + " says hi"),
            ("مرحبا {contact:c1}", "مرحبا " + isolated("Zoë Martin")),
            ("مرحبا {contact:c2}", "مرحبا علي حسن"), ("hi {contact:c5} 3", "hi " + isolated("Zoë علي") + " 3"),
            ("{contact:c2}", "علي حسن"), ("{contact:c2}: {contact:c1}", "علي حسن: " + isolated("Zoë Martin")),
            ("{contact:c1} + {contact:c2}", "Zoë Martin + " + isolated("علي حسن")),
            ("مرحبا {contact:42}", "مرحبا " + isolated("3 + 4")), ("hi {contact:42}", "hi 3 + 4"),
            ("مرحبا {contact:c77}", "مرحبا " + isolated("Someone")),
            ("{contact:c77}: {contact:c2}", "Someone: " + isolated("علي حسن")),
        ])
    func isolates(_ text: String, _ expected: String) async {
        var chain = ContactChain()
        await expect(Message(alert: "\"\(text)\"").publish(chain())?.alert, is: "\"\(expected)\"")
        chain.options.isolates = false
        let plain = expected.filter { $0 != "\u{2068}" && $0 != "\u{2069}" }
        await expect(Message(alert: "\"\(text)\"").publish(chain())?.alert, is: "\"\(plain)\"")
    }

    @Test("What a text has between isolates of its own says nothing of its direction")
    func ownIsolates() async {
        let chain = ContactChain()
        let (zoe, ali) = (Self.isolated("Zoë Martin"), Self.isolated("علي حسن"))
        for (own, rest, expected) in [
            ("مرحبا", " says {contact:c2}", Self.isolated("مرحبا") + " says " + ali),
            ("hi {contact:c1}", " مرحبا", Self.isolated("hi " + zoe) + " مرحبا"),
        ] {
            let message = Message(alert: "\"\(Self.isolated(own))\(rest)\"")
            await expect(message.publish(chain())?.alert, is: "\"\(expected)\"")
        }
    }
}
