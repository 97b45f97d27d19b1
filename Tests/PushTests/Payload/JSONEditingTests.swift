import PushmillTestSupport
import Testing

@testable import PushmillPayload

@Suite("Editing a document")
struct JSONEditingTests {
    @Test(
        "Removing a member also removes its comma and the white space that belongs to it",
        arguments: [
            (#"{"a":1,"b":2,"c":3}"#, "/a", #"{"b":2,"c":3}"#), (#"{"a":1,"b":2,"c":3}"#, "/b", #"{"a":1,"c":3}"#),
            (#"{"a":1,"b":2,"c":3}"#, "/c", #"{"a":1,"b":2}"#), (#"{"a":1}"#, "/a", "{}"),
            ("{ \"a\" : 1 }", "/a", "{}"),
            ("{\n  \"a\": 1,\n  \"b\": 2\n}", "/a", "{\n  \"b\": 2\n}"),
            ("{\n  \"a\": 1,\n  \"b\": 2\n}", "/b", "{\n  \"a\": 1\n}"),
            ("{ \"a\":1 , \"b\":2 ,\t\"c\":3 }", "/b", "{ \"a\":1 ,\t\"c\":3 }"),
            (#"{"a":1,"b":2,"a":3}"#, "/a", #"{"b":2}"#),
            (#"{"\u0061":1,"b":2,"a":3}"#, "/a", #"{"b":2}"#), ("[1, 2, 3]", "/0", "[2, 3]"),
            ("[1, 2, 3]", "/1", "[1, 3]"),
            ("[1, 2, 3]", "/2", "[1, 2]"), ("[ 1 ]", "/0", "[]"),
            (#"{"a":{"b":{"c":1}}, "d":2}"#, "/a/b/c", #"{"a":{"b":{}}, "d":2}"#),
        ])
    func removes(_ json: String, pointer: String, expected: String) throws {
        var document = try JSONDocument(json)
        expect(document.remove(try #require(JSONPointer(pointer))), is: true)
        expect(document.text, is: expected)
    }

    @Test("A savepoint of another document, or of an earlier text, undoes nothing")
    func otherSavepoint() throws {
        let pointer = try #require(JSONPointer("/a"))
        var document = try JSONDocument(#"{"a":1,"b":[1,2,3]}"#)
        let other = try JSONDocument("{}").savepoint()
        document.set(2, at: pointer)
        document.rollback(to: other)
        expect(document.text, is: #"{"a":2,"b":[1,2,3]}"#)
        let former = document.savepoint()
        let json = #"{"a":"x","b":{"c":[true,false]}}"#
        try Array(json.utf8).withUnsafeBytes { try document.read($0) }
        document.set(3, at: pointer)
        document.rollback(to: former)
        expect(document.text, is: #"{"a":3,"b":{"c":[true,false]}}"#)
    }

    @Test("A savepoint of edits that are gone undoes nothing", arguments: [true, false])
    func goneMark(isRolledBack: Bool) throws {
        let pointer = try #require(JSONPointer("/e"))
        var document = try JSONDocument(#"{"a":1}"#)
        let (earlier, beginning) = (document, document.savepoint())
        document.set("x", at: pointer)
        let gone = document.savepoint()
        if isRolledBack { document.rollback(to: beginning) } else { document = earlier }
        document.set(json: Array("[1,[2]]".utf8).span, at: pointer)
        document.set("y", at: JSONPointer(member: "f"))
        document.rollback(to: gone)
        expect(document.text, is: #"{"a":1,"e":[1,[2]],"f":"y"}"#)
        document.rollback(to: beginning)
        expect(document.text, is: #"{"a":1}"#)
    }

    @Test(
        "An impossible edit leaves the document unchanged",
        arguments: ["", "/s/x", "/n/0", "/l/7", "/l/x", "/l/-1", "/l/01"])
    func impossible(_ pointer: String) throws {
        let json = #"{"s":"text","n":null,"l":[1]}"#
        let pointer = try #require(JSONPointer(pointer))
        var document = try JSONDocument(json)
        expect(document.set("x", at: pointer), is: false)
        expect(document.set(1, at: pointer), is: false)
        expect(document.set(json: Array("{}".utf8).span, at: pointer), is: false)
        expect(document.remove(pointer), is: false)
        #expect(!document.isEdited)
        expect(document.text, is: json)
    }

    @Test(
        "Setting a missing value inserts it",
        arguments: [
            ("{}", "/a", #"{"a":"x"}"#), ("{ }", "/a", #"{"a":"x"}"#),
            ("{\n  \"b\": 1\n}", "/a", "{\n  \"b\": 1,\"a\":\"x\"\n}"),
            ("{}", "/a/b/c", #"{"a":{"b":{"c":"x"}}}"#), (#"{"a":{}}"#, "/a/b", #"{"a":{"b":"x"}}"#),
            ("{}", "/a\"b", #"{"a\"b":"x"}"#), ("{}", "/~1~0", #"{"/~":"x"}"#), ("{}", "/", #"{"":"x"}"#),
            (#"{"l":[]}"#, "/l/0", #"{"l":["x"]}"#), (#"{"l":[1]}"#, "/l/1", #"{"l":[1,"x"]}"#),
            (#"{"l":[ 1 ]}"#, "/l/-", #"{"l":[ 1,"x" ]}"#), (#"{"l":[1]}"#, "/l/-/a", #"{"l":[1,{"a":"x"}]}"#),
            (#"{"a":1,"b":2,"a":3}"#, "/a", #"{"a":1,"b":2,"a":"x"}"#),
        ])
    func inserts(_ json: String, pointer: String, expected: String) throws {
        var document = try JSONDocument(json)
        expect(document.set("x", at: try #require(JSONPointer(pointer))), is: true)
        expect(document.text, is: expected)
    }

    @Test(
        "Only characters that need an escape are escaped",
        arguments: [
            ("a/b", #""a/b""#), ("\"\\", #""\"\\""#), ("\u{8}\u{9}\u{A}\u{C}\u{D}", #""\b\t\n\f\r""#),
            ("\0\u{1}\u{B}\u{1F}", #""\u0000\u0001\u000b\u001f""#),
            ("\u{7F}é漢👩‍👩‍👧\u{2028}", "\"\u{7F}é漢👩‍👩‍👧\u{2028}\""), ("1234567\"", #""1234567\"""#),
            ("12345678\n", #""12345678\n""#), ("", #""""#),
            ("Привет, как дела?\nХорошо, \"спасибо\"!\0", #""Привет, как дела?\nХорошо, \"спасибо\"!\u0000""#),
            ("0123456789abcdef\t0123456789abcdé\\", #""0123456789abcdef\t0123456789abcdé\\""#),
        ])
    func escapes(_ text: String, json: String) throws {
        var document = JSONDocument()
        let pointer = try #require(JSONPointer("/a"))
        document.set(text, at: pointer)
        #expect(document.text.utf8.elementsEqual("{\"a\":\(json)}".utf8))
        document.set(Array(text.utf8).span, at: pointer)
        #expect(document.text.utf8.elementsEqual("{\"a\":\(json)}".utf8))
        let node = try #require(document.node(at: pointer))
        expect(document.string(of: node).map { Array($0.utf8) }, is: Array(text.utf8))
    }

    @Test("Escaping does not depend on where blocks of text end")
    func escapesInBlocks() throws {
        let pointer = try #require(JSONPointer("/a"))
        for letter in ["é", "漢", "👍"] {
            for count in 0..<40 {
                let text = String(repeating: "a", count: count) + "\n" + String(repeating: letter, count: 40)
                var (known, unknown) = (JSONDocument(), JSONDocument())
                known.set(text, at: pointer)
                unknown.set(Array(text.utf8).span, at: pointer)
                let expected = "{\"a\":\"\(text.replacing("\n", with: "\\n"))\"}"
                #expect(known.text == expected && unknown.text == expected)
            }
        }
    }

    @Test(
        "Bytes that are not UTF-8 are written as U+FFFD",
        arguments: [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0xF5, 0x80]] as [[UInt8]])
    func invalidUTF8(_ bytes: [UInt8]) throws {
        var document = JSONDocument()
        document.set(([0x61] + bytes + [0x62]).span, at: try #require(JSONPointer("/a")))
        let again = try JSONDocument(document.text)
        let replaced = "a" + String(repeating: "\u{FFFD}", count: bytes.count) + "b"
        expect(again.text, is: "{\"a\":\"\(replaced)\"}")
    }

    @Test("Integers are written up to the limits", arguments: [0, 7, -1, 10, 100, 1_234_567_890, .max, .min])
    func integers(_ number: Int) throws {
        var document = JSONDocument()
        document.set(number, at: try #require(JSONPointer("/a")))
        expect(document.text, is: "{\"a\":\(number)}")
    }

    @Test("White space around an edited payload stays")
    func surroundings() throws {
        var document = try JSONDocument(" \r\n{}\t\n")
        expect(document.set(1, at: try #require(JSONPointer("/a"))), is: true)
        expect(document.text, is: " \r\n{\"a\":1}\t\n")
    }

    @Test("Edited values can be edited again")
    func editsOnEdits() throws {
        var document = try JSONDocument(#"{"a": 1 , "b":[true]}"#)
        func pointer(_ text: String) throws -> JSONPointer { try #require(JSONPointer(text)) }
        expect(document.set(json: Array(" { \"x\" : [1, 2] } ".utf8).span, at: try pointer("/a")), is: true)
        expect(document.text, is: #"{"a": { "x" : [1, 2] } , "b":[true]}"#)
        expect(document.set("é", at: try pointer("/a/x/0")), is: true)
        expect(document.set("new", at: try pointer("/a/y/z")), is: true)
        expect(document.text, is: #"{"a": { "x" : ["é", 2],"y":{"z":"new"} } , "b":[true]}"#)
        expect(document.set("newer", at: try pointer("/a/y/z")), is: true)
        expect(document.remove(try pointer("/a/x")), is: true)
        expect(document.text, is: #"{"a": { "y":{"z":"newer"} } , "b":[true]}"#)
        expect(document.remove(try pointer("/a/y")), is: true)
        expect(document.set(2, at: try pointer("/a/x")), is: true)
        expect(document.remove(try pointer("/b")), is: true)
        expect(document.text, is: #"{"a": { "x":2 }}"#)
        expect(document.set("end", at: try pointer("/a")), is: true)
        expect(document.text, is: #"{"a": "end"}"#)
    }

    @Test("Raw JSON is inserted as it is spelled, and anything else is rejected")
    func rawJSON() throws {
        var document = JSONDocument()
        let pointer = try #require(JSONPointer("/a"))
        for json in ["", "[", "{\"a\":}", "1 2", "\"\u{1}\"", "nul"] {
            expect(document.set(json: Array(json.utf8).span, at: pointer), is: false)
        }
        expect(document.text, is: "{}")
        expect(document.set(json: Array(" [1.0, \"\\/\"]\n".utf8).span, at: pointer), is: true)
        expect(document.text, is: #"{"a":[1.0, "\/"]}"#)
    }

    @Test("Edits keep to the depth limit")
    func depth() throws {
        var document = JSONDocument()
        func brackets(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        expect(document.set(json: brackets(127).span, at: try #require(JSONPointer("/a"))), is: true)
        expect(document.set(json: brackets(128).span, at: try #require(JSONPointer("/a"))), is: false)
        expect(document.set(json: brackets(127).span, at: try #require(JSONPointer("/b/c"))), is: false)
        let deepest = try #require(JSONPointer(String(repeating: "/d", count: 128)))
        expect(document.set(1, at: deepest), is: true)
        expect(document.set(json: brackets(1).span, at: deepest), is: false)
        _ = try JSONDocument(document.text)
    }

    @Test("Members of another document are copied with their edits")
    func copies() throws {
        var other = try JSONDocument(#"{ "chat" : 7, "\u0061": {"x": [1, 2]} }"#)
        other.set("y", at: try #require(JSONPointer("/a/x/0")))
        var content = try NotificationContent(#"{"chat":1, "aps":{}}"#)
        other.forEachChild(of: other.root) { expect(content.copyDecrypted($0, of: other), is: true) }
        expect(content.rendered, is: #"{"chat":7, "aps":{},"a":{"x": ["y", 2]}}"#)
    }

    @Test("A copy is not affected by edits and reads of the original")
    func copy() throws {
        var document = try JSONDocument(#"{"a":1}"#)
        let pointer = try #require(JSONPointer("/a"))
        document.set("first", at: pointer)
        let copy = document
        document.set("second", at: pointer)
        expect(copy.text, is: #"{"a":"first"}"#)
        try document.read("{}")
        expect(copy.text, is: #"{"a":"first"}"#)
    }
}
