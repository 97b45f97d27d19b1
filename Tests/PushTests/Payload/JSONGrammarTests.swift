import PushmillPayload
import PushmillTestSupport
import Testing

@Suite("The grammar of RFC 8259")
struct JSONGrammarTests {
    @Test(
        "Valid documents are accepted",
        arguments: [
            "null", "true", "false", "0", "-0", "0.0", "-0.5e+7", "1e2", "1E-2", "123456789012345678901234567890",
            "1e400",
            #""""#, "[]", "{}", " \t\r\n[ ] ", "[[],[[]],{}]", #"{"":0}"#, #"{"a":1,"a":2}"#, "[1,2,3]",
            #""\"\\\/\b\f\n\r\t\u00e9\u0000""#, #""\ud834\udd1e""#, #""\ud800""#, #""\udc00\ud800""#,
            #""\uD800\u0041""#,
            "\"\u{7F}\"", "\"\u{2028}\u{2029}\"", "\"\u{10FFFF}\"", "\"\u{FEFF}\"", #"{"\u0061":[{"b":{}}]}"#,
        ])
    func accepts(_ text: String) throws {
        _ = try JSONDocument(text)
    }

    @Test(
        "Invalid documents are rejected with the position and the reason",
        arguments: [
            ("", 0, .unexpectedEnd), (" ", 1, .unexpectedEnd), ("{", 1, .unexpectedEnd), ("[", 1, .unexpectedEnd),
            ("[1,", 3, .unexpectedEnd), (#"{"a"#, 3, .unexpectedEnd), (#"{"a""#, 4, .unexpectedEnd),
            (#"{"a":"#, 5, .unexpectedEnd), (#""a\"#, 3, .unexpectedEnd), (#""\u12"#, 5, .unexpectedEnd),
            ("-", 1, .unexpectedEnd), ("1.", 2, .unexpectedEnd), ("1e", 2, .unexpectedEnd), ("tru", 3, .unexpectedEnd),
            ("nul", 3, .unexpectedEnd), ("\u{FEFF}{}", 0, .byteOrderMark), ("'a'", 0, .unexpectedByte),
            ("truE", 3, .unexpectedByte), ("NaN", 0, .unexpectedByte), ("Infinity", 0, .unexpectedByte),
            ("+1", 0, .unexpectedByte), (".5", 0, .unexpectedByte), ("[,1]", 1, .unexpectedByte),
            ("[1,]", 3, .unexpectedByte),
            ("[1,,2]", 3, .unexpectedByte), ("]", 0, .unexpectedByte), ("[\u{C}1]", 1, .unexpectedByte),
            ("[\u{A0}1]", 1, .unexpectedByte), (#"{"a":}"#, 5, .unexpectedByte), ("{,}", 1, .missingName),
            (#"{"a":1,}"#, 7, .missingName), ("{1:2}", 1, .missingName), ("{a:1}", 1, .missingName),
            ("{]", 1, .missingName),
            (#"{"a" 1}"#, 5, .missingColon), (#"{"a",1}"#, 4, .missingColon), ("[1 2]", 3, .missingSeparator),
            ("[1}", 2, .missingSeparator), (#"{"a":1]"#, 6, .missingSeparator), ("[01]", 2, .missingSeparator),
            ("[-01]", 3, .missingSeparator), ("[1.2.3]", 4, .missingSeparator), ("[0x1]", 2, .missingSeparator),
            (#"["a"x]"#, 4, .missingSeparator), ("[truetrue]", 5, .missingSeparator), ("1 2", 2, .trailingBytes),
            ("{}}", 2, .trailingBytes), ("{}\0", 2, .trailingBytes), ("[] // x", 3, .trailingBytes),
            ("\"a\u{1F}b\"", 2, .controlCharacter), ("\"\t\"", 1, .controlCharacter),
            ("\"12345678\n\"", 9, .controlCharacter),
            ("\"a\0b\"", 2, .controlCharacter), (#""\a""#, 2, .invalidEscape), (#""\u00g0""#, 5, .invalidEscape),
            (#""\U0041""#, 2, .invalidEscape), (#""\x41""#, 2, .invalidEscape), (#""\u 041""#, 3, .invalidEscape),
            ("\"\\\u{E9}\"", 2, .invalidEscape), ("-a", 1, .invalidNumber), ("[-]", 2, .invalidNumber),
            ("[1.]", 3, .invalidNumber), ("[1.e1]", 3, .invalidNumber), ("[1e]", 3, .invalidNumber),
            ("[1e+]", 4, .invalidNumber), ("[--1]", 2, .invalidNumber), ("[-Infinity]", 2, .invalidNumber),
        ] as [(String, Int, JSONFault)])
    func refuses(_ text: String, offset: Int, fault: JSONFault) {
        #expect(throws: PayloadError.notJSON(offset: offset, fault: fault)) { try JSONDocument(text) }
    }

    @Test(
        "Bytes that are not UTF-8 are rejected",
        arguments: [
            ([0x80], 1), ([0xBF], 1), ([0xC0, 0x80], 1), ([0xC1, 0xBF], 1), ([0xC2], 1), ([0xC2, 0x41], 1),
            ([0xC2, 0xC2], 1),
            ([0xE0, 0x9F, 0xBF], 1), ([0xE0, 0xA0], 1), ([0xE1, 0x80, 0x41], 1), ([0xED, 0xA0, 0x80], 1),
            ([0xED, 0xBF, 0xBF], 1), ([0xF0, 0x8F, 0xBF, 0xBF], 1), ([0xF0, 0x90, 0x80], 1),
            ([0xF4, 0x90, 0x80, 0x80], 1),
            ([0xF5, 0x80, 0x80, 0x80], 1), ([0xFE], 1), ([0xFF], 1), ([0x61, 0x62, 0xFF], 3), ([0xC3, 0xA9, 0xA9], 3),
            ([0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x80], 9),
        ] as [([UInt8], Int)])
    func invalidUTF8(_ bytes: [UInt8], offset: Int) {
        var document = JSONDocument()
        for tail in [[0x22], [0x78, 0x79, 0x7A, 0x22]] as [[UInt8]] {
            #expect(throws: PayloadError.notJSON(offset: offset, fault: .invalidUTF8)) {
                try document.read([0x22] + bytes + tail)
            }
            expect(document.text, is: "{}")
        }
        #expect(throws: PayloadError.self) { try document.read([0x22] + bytes) }
        #expect(throws: PayloadError.self) { try document.read([0x7B, 0x22] + bytes + Array("\":1}".utf8)) }
        #expect(throws: PayloadError.notJSON(offset: 0, fault: .unexpectedByte)) { try document.read(bytes + [0x31]) }
    }

    @Test(
        "The first and last scalar of every length in UTF-8 are accepted",
        arguments: ["\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}"])
    func edgesOfUTF8(_ scalar: String) throws {
        let document = try JSONDocument("\"\(scalar)\"")
        expect(document.string(of: document.root), is: scalar)
    }

    @Test("128 nested containers are read, and the 129th is rejected", arguments: ["[]", "{}"])
    func depth(_ brackets: String) throws {
        let isArray = brackets == "[]"
        func nested(_ depth: Int) -> String {
            let opening = String(repeating: isArray ? "[" : "{\"\":", count: depth - 1)
            return opening + brackets + String(repeating: isArray ? "]" : "}", count: depth - 1)
        }
        let document = try JSONDocument(nested(128))
        expect(document.text, is: nested(128))
        let offset = isArray ? 128 : 128 * 4
        #expect(throws: PayloadError.tooDeep(offset: offset)) { try JSONDocument(nested(129)) }
        #expect(throws: PayloadError.tooDeep(offset: offset)) { try JSONDocument(nested(100_000)) }
        _ = try JSONDocument("[" + String(repeating: "[],", count: 1000) + "{}]")
    }

    @Test("A document stays usable after each rejected text")
    func reused() throws {
        var document = try JSONDocument(#"{"a":[1,{"b":2}]}"#)
        for text in ["", "[1", "{\"a\":[", "nul", "\"\\u12"] {
            #expect(throws: PayloadError.self) { try document.read(text) }
            expect(document.text, is: "{}")
            expect(document.childCount(of: document.root), is: 0)
            try document.read(#"{"c":[1,2,3]}"#)
            expect(document.text, is: #"{"c":[1,2,3]}"#)
        }
    }
}
