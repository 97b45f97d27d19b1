import PushmillPayload
import PushmillTestSupport
import Testing

@Suite("Reading a document")
struct JSONReadingTests {
    @Test(
        "A string's text has its escapes decoded",
        arguments: [
            (#""""#, ""), (#""plain""#, "plain"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
            (#""\u0041\u00E9""#, "Aé"),
            (#""\u0000x""#, "\0x"), (#""\ud83d\udc4d!""#, "👍!"), (#""\ud83d""#, "\u{FFFD}"), (#""\udc4d""#, "\u{FFFD}"),
            (#""\ud83d\ud83d\udc4d""#, "\u{FFFD}👍"), (#""a\ud83dz""#, "a\u{FFFD}z"), (#""\ud83d\n""#, "\u{FFFD}\n"),
            (#""\udc4d\ud83d""#, "\u{FFFD}\u{FFFD}"), (#""\uFFFF\u2028""#, "\u{FFFF}\u{2028}"), (#""漢\u0020字""#, "漢 字"),
        ])
    func strings(_ json: String, text: String) throws {
        let document = try JSONDocument(json)
        let read = try #require(document.string(of: document.root))
        #expect(read.utf8.elementsEqual(text.utf8))
        expect(document.hasText(document.root), is: !text.isEmpty)
    }

    @Test(
        "Whole numbers are read in any spelling; a fraction or exponent limits them to a double's precision",
        arguments: [
            ("0", 0), ("-0", 0), ("0.0", 0), ("0e9", 0), ("0e999999999999999999999", 0), ("7", 7), ("-7", -7),
            ("1e2", 100),
            ("1E+2", 100), ("100e-2", 1), ("1.0", 1), ("1.50e1", 15), ("120.00", 120), ("0.001e3", 1), ("1000e-3", 1),
            ("9223372036854775807", .max), ("-9223372036854775808", .min), ("9223372036854775808", nil),
            ("-9223372036854775808.0", .min), ("-9223372036854775808e0", .min), ("-9223372036854777000.0", nil),
            ("-9223372036854775809", nil), ("922337203685477580.7e1", nil),
            ("1000000000000000000000e-3", 1_000_000_000_000_000_000),
            ("12345678901234567890", nil),
            ("1.5", nil),
            ("1e-1", nil), ("15e-1", nil), ("1e19", nil), ("1e18", 1_000_000_000_000_000_000),
            ("1e99999999999999999999", nil),
            ("1e-99999999999999999999", 0), ("1.00000000000000000000000000001", 1),
            ("1.000000000000000000000000000000", 1),
            ("true", nil), (#""1""#, nil), ("null", nil), ("[1]", nil),
        ])
    func integers(_ json: String, integer: Int?) throws {
        let document = try JSONDocument(json)
        expect(document.integer(of: document.root), is: integer)
    }

    @Test(
        "A pointer leads to its value, or to none",
        arguments: [
            ("/a/b/0", "20"), ("/a/b", "[20,[30]]"),
            ("/a/b/1/0", "30"), ("/a/b/2", nil), ("/a/b/01", nil), ("/a/b/-", nil), ("/a/b/-1", nil), ("/a/", nil),
            ("/", #"{"":2}"#),
            ("//", "2"), ("/a~0b~1c", "3"), ("/0", "4"), ("/a/\u{E9}", "5"), ("/a/b/9223372036854775807", nil),
            ("/a/b/99999999999999999999", nil), ("/0/x", nil), ("/A", nil),
        ])
    func pointers(_ pointer: String, value: String?) throws {
        let json = #"{"a":{"b":[10,{"c":"x"}],"":1},"":{"":2},"a~b/c":3,"0":4,"a":{"b":[20,[30]],"é":5}}"#
        let document = try JSONDocument(json)
        expect(document.text(at: try #require(JSONPointer(pointer))), is: value)
    }

    @Test("An invalid pointer is rejected", arguments: ["a", "a/b", "/~", "/a~2", "/~a/b", " /a", "#/a"])
    func noPointer(_ text: String) {
        #expect(JSONPointer(text) == nil)
    }

    @Test(
        "A pointer escapes a member's name by scalars: a combining mark may follow a slash",
        arguments: ["/\u{301}", "~\u{301}", "/~"])
    func escapedPointer(_ name: String) throws {
        let pointer = JSONPointer(member: name)
        try expect(#require(JSONPointer(pointer.description)), is: pointer)
    }

    @Test("A pointer longer than the depth limit is rejected")
    func longPointer() {
        #expect(JSONPointer(String(repeating: "/a", count: 128)) != nil)
        #expect(JSONPointer(String(repeating: "/a", count: 129)) == nil)
    }

    @Test(
        "A member is found by its name, not by its spelling",
        arguments: [#"{"aps":1,"\u0061ps":2}"#, #"{"\u0061\u0070s":2}"#])
    func escapedNames(_ json: String) throws {
        let document = try JSONDocument(json)
        let node = try #require(document.member("aps", of: document.root))
        expect(document.integer(of: node), is: 2)
        expect(
            document.withName(of: node) { name in name.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            }, is: "aps")
        #expect(document.member("ap", of: document.root) == nil)
        #expect(document.member("apsx", of: document.root) == nil)
    }

    @Test("Children are listed in order, with their kinds and the spellings of scalars")
    func children() throws {
        let document = try JSONDocument(#"["a\/",1.50,true,false,null,{"x":1},[]]"#)
        var kinds: [JSONKind] = []
        var spellings: [String?] = []
        document.forEachChild(of: document.root) { child in
            kinds.append(document.kind(of: child))
            spellings.append(
                document.withSpelling(of: child) { text in
                    text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
                })
            #expect(document.withName(of: child) { _ in } == nil)
        }
        expect(kinds, is: [.string, .number, .true, .false, .null, .object, .array])
        expect(spellings, is: [#""a\/""#, "1.50", "true", "false", "null", nil, nil])
    }

    @Test("An error that the body throws is passed on, with and without escapes", arguments: [#""a""#, #""\n""#])
    func bodyThrows(_ json: String) throws {
        struct Refusal: Error, Equatable {}
        let document = try JSONDocument(json)
        #expect(throws: Refusal()) {
            try document.withText(of: document.root) { (_) throws(Refusal) in throw Refusal() }
        }
    }

    @Test("A text of more than 1 GiB is rejected unread, and leaves the empty object")
    func tooLong() throws {
        var document = try JSONDocument(#"{"a":1}"#)
        let byte = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
        defer { byte.deallocate() }
        let text = UnsafeRawBufferPointer(start: byte, count: 1 << 30 + 1)
        #expect(throws: PayloadError.notJSON(offset: 1 << 30, fault: .tooLong)) { try document.read(text) }
        expect(document.childCount(of: document.root), is: 0)
        #expect(document.string(of: document.root) == nil)
    }

    @Test("Texts of any size can be read one after another into the same document")
    func sizes() throws {
        var document = JSONDocument()
        for count in [3, 200_000, 1, 70_000, 0, 5] {
            let values = (0..<count).map { "\($0)" }
            let text = Array("[\(values.joined(separator: ", "))]".utf8)
            try text.withUnsafeBytes { try document.read($0) }
            expect(document.childCount(of: document.root), is: count)
            let last = document.children(of: document.root).last
            expect(last.flatMap(document.integer), is: (count > 0 ? count - 1 : nil))
            expect(document.renderedByteCount, is: text.count)
        }
    }

    private static let members = (0..<2000).map { #""\#($0)":0"# }.joined(separator: ",")

    @Test(
        "Reading a small text frees a large one's bytes, index and list of changes",
        arguments: [
            #"{"a":"\#(String(repeating: "x", count: 70_000))"}"#,
            #"{"a":[\#(Array(repeating: "0", count: 2500).joined(separator: ","))]}"#,
            "{" + members + "}",
        ])
    func givenBack(_ large: String) throws {
        var document = try JSONDocument(large)
        #expect(document.isLarge)
        for name in 0..<2000 { document.remove(JSONPointer(member: "\(name)")) }
        let small = Array(#"{"b":1}"#.utf8)
        try small.withUnsafeBytes { try document.read($0) }
        #expect(!document.isLarge)
        expect(document.member("b", of: document.root).flatMap(document.integer), is: 1)
    }

    @Test("Wiping a document zeroes its text, but not that of a copy")
    func wiped() throws {
        var document = try JSONDocument(#"{"k":"secret"}"#)
        let copy = document
        let node = try #require(document.member("k", of: document.root))
        document.wipe()
        document.withText(of: node) { text in
            text.withUnsafeBufferPointer { text in #expect(text.allSatisfy { $0 == 0 }) }
        }
        expect(copy.string(of: node), is: "secret")
    }

    @Test("A member's name is compared as a whole")
    func named() throws {
        let document = try JSONDocument(#"{"alpha":1,"\u0062eta":2}"#)
        let members = document.children(of: document.root)
        #expect(document.isNamed("alpha", members[0]) && document.isNamed("beta", members[1]))
        #expect(!document.isNamed("alph", members[0]) && !document.isNamed("alphb", members[0]))
        #expect(!document.isNamed("beta", document.root))
    }
}
