import PushmillStages
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("YAML documents")
struct YAMLDocumentTests {
    @Test(
        "Lists, maps and scalars are read, and a scalar's type is never guessed",
        arguments: [
            ("", "null"), ("# only a comment\n", "null"), ("---\n", "null"), ("--- a\n...\n", "'a'"),
            ("a: 1\nb: [x, 'y', \"z\"]\n", "{a:'1',b:['x','y','z']}"),
            ("a: no\nb: 0x10\nc: 1e3\n", "{a:'no',b:'0x10',c:'1e3'}"),
            ("a:\nb: ~\nc: null\nd: 'null'\ne: ''\n", "{a:null,b:null,c:null,d:'null',e:''}"),
            ("a: |\n  x\n  y\nb: >\n  x\n  y\n", "{a:'x\ny\n',b:'x y\n'}"),
            ("- a\n- b: 1\n  c: 2\n- - d\n", "['a',{b:'1',c:'2'},['d']]"),
            ("\u{FEFF}a: \"\\u263A é 📷\"\n", "{a:'☺ é 📷'}"), ("\u{FEFF}a: 1\nb: 2\n", "{a:'1',b:'2'}"),
            ("a: 1\r\nb: 2\r\n", "{a:'1',b:'2'}"),
            ("{a: {}, b: [], c}", "{a:{},b:[],c:null}"),
        ])
    func reads(text: String, tree: String) {
        let document = YAMLDocument(text)
        expect(document.problems, is: [])
        expect(document.root?.compact, is: tree)
    }

    @Test("Every value has its line and column, counted in characters") func places() throws {
        let root = try #require(YAMLDocument("é: x\nlist:\n  - 1\n  - {k: 📷, l: v}\n").root)
        guard case .map(let members) = root.value, case .list(let items) = members[1].value.value,
            case .map(let inner) = items[1].value
        else {
            Issue.record("another shape: \(root.compact)")
            return
        }
        expect(members[0].value.place, is: .file("f.yaml", line: 1, column: 4))
        expect(members[1].place, is: .file("f.yaml", line: 2, column: 1))
        expect(items[1].place, is: .file("f.yaml", line: 4, column: 5))
        expect(inner[1].place, is: .file("f.yaml", line: 4, column: 12))
        expect(inner[1].value.place, is: .file("f.yaml", line: 4, column: 15))
    }

    @Test(
        "Invalid YAML is reported with its place",
        arguments: [
            ("a: b: c\n", "1:5: mapping values are not allowed in this context"),
            ("a:\n\t- b\n", "2:1: a tab cannot indent a line in YAML: use spaces"),
            ("a:\n  \tb: 1\n", "2:3: a tab cannot indent a line in YAML: use spaces"),
            ("a: @b\n", "1:4: found character that cannot start any token while scanning for the next token"),
            (
                "a: [1, 2\nb: 3\n",
                "2:2: did not find expected ',' or ']' while parsing a flow sequence that starts on line 1"
            ),
            ("a: 'x\n", "2:1: found unexpected end of stream while scanning a quoted scalar that starts on line 1"),
            ("a: 1\n  b: 2\n", "2:4: mapping values are not allowed in this context"),
            ("a: 1\n- b\n", "2:1: did not find expected key while parsing a block mapping that starts on line 1"),
            ("a: \"\\q\"\n", "1:5: found unknown escape character while parsing a quoted scalar"),
            ("a: \"\\ud800\"\n", "1:7: found invalid Unicode character escape code while parsing a quoted scalar"),
            ("%YAML 7.0\n--- a\n", "1:1: found incompatible YAML document"),
            ("a: 1\nb: \u{1}\n", "2:4: control characters are not allowed"),
        ])
    func syntax(text: String, problem: String) {
        let document = YAMLDocument(text)
        #expect(document.root == nil)
        expect(document.problems.map(\.description), is: ["f.yaml:\(problem)"])
    }

    @Test("Bytes that are not UTF-8 are reported with their place")
    func notUTF8() {
        let document = YAMLDocument(Array("a: é\nb: é".utf8) + [0xFF, 0x0A], file: "f.yaml")
        expect(document.problems.map(\.description), is: ["f.yaml:2:5: invalid leading UTF-8 octet"])
        let wide = YAMLDocument([0xFF, 0xFE, 0x61, 0x00], file: "f.yaml")
        expect(wide.problems.map(\.description), is: ["f.yaml:1:1: invalid leading UTF-8 octet"])
    }

    @Test(
        "YAML features that a configuration does not need are refused, all at once",
        arguments: [
            ("a: 1\nb: 2\na: 3\n", ["3:1: \"a\" appears twice; the first one is at f.yaml:1:1"]),
            ("{a:secret, a:secret}\n", ["1:12: \"a…\" appears twice; the first one is at f.yaml:1:2"]),
            (
                "a: &x 1\nb: *x\n",
                [
                    "1:4: anchors are not supported: quote a text that begins with &",
                    "2:4: aliases are not supported: quote a text that begins with *",
                ]
            ),
            (
                "a: !!str 1\nb: !x {}\n",
                [
                    "1:4: tags are not supported: quote a text that begins with !",
                    "2:4: tags are not supported: quote a text that begins with !",
                ]
            ),
            ("[a]: 1\n~: 2\n", ["1:1: a key must be plain text", "2:1: a key must be plain text"]),
            ("a: \"x\\0y\"\n", ["1:4: a NUL character cannot be part of a value"]),
        ])
    func refused(text: String, problems: [String]) {
        let document = YAMLDocument(text)
        #expect(document.root != nil)
        expect(document.problems.map(\.description), is: problems.map { "f.yaml:\($0)" })
    }

    @Test("A second document is refused") func second() {
        let document = YAMLDocument("a: 1\n---\nb: 2\n")
        #expect(document.root == nil)
        expect(document.problems.map(\.description), is: ["f.yaml:2:1: a second document is not allowed"])
    }

    @Test(
        "Nesting depth and number of values are limited",
        arguments: [
            ("[", 500_000, "f.yaml:1:33: nested deeper than 32 levels"),
            ("{a: ", 200_000, "f.yaml:1:126: nested deeper than 32 levels"),
            ("- ", 500_000, "f.yaml:1:65: nested deeper than 32 levels"),
            ("? ", 500_000, "f.yaml:1:65: nested deeper than 32 levels"),
            ("- a\n", 200_000, "f.yaml:20000:3: more than 20000 values"),
        ])
    func bounded(piece: String, count: Int, problem: String) {
        let document = YAMLDocument(String(repeating: piece, count: count))
        #expect(document.root == nil)
        expect(document.problems.map(\.description), is: [problem])
    }

    @Test("A billion-laughs alias attack is rejected") func laughs() {
        var text = "a0: &a0 [x]\n"
        for level in 1...100 {
            text += "a\(level): &a\(level) [\(Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", "))]\n"
        }
        let document = YAMLDocument(text)
        expect(document.problems.count, is: 101 + 900)
    }
}
