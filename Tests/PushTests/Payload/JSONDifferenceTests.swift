import PushmillPayload
import Testing

@Suite("Differences of documents")
struct JSONDifferenceTests {
    @Test("What is new or another is told in the new document's order, then what is gone; what is the same is not")
    func between() throws {
        let old = try JSONDocument(#"{"a":1,"gone":{},"b":{"c":[1,2],"d/e":"x","f":"é"}}"#)
        let new = try JSONDocument(#"{"b":{"f":"é","c":[1,3,4],"d/e":"y"},"n~":null,"a":1}"#)
        #expect(
            JSONDifference.between(old, new).map(\.description) == [
                "~ /b/c/1: 2 -> 3", "+ /b/c/2: 4", #"~ /b/d~1e: "x" -> "y""#, "+ /n~0: null", "- /gone: {}",
            ])
        #expect(JSONDifference.between(new, new) == [])
    }

    @Test("Arrays and objects without anything in them are values; the root may be one")
    func containers() throws {
        func changes(_ old: String, _ new: String) throws -> [String] {
            JSONDifference.between(try JSONDocument(old), try JSONDocument(new)).map(\.description)
        }
        #expect(try changes("[]", "{}") == ["~ : [] -> {}"])
        #expect(try changes("[]", "[[],1]") == ["+ /0: []", "+ /1: 1", "- : []"])
        #expect(try changes(#"{"a":1,"a":2}"#, #"{"a":2}"#) == [])
        #expect(try changes("[\"\u{EB}\"]", "[\"e\u{308}\"]").count == 1)
    }

    @Test("Of members with the same name the last one counts, on both sides, with all that is below it")
    func duplicates() throws {
        func changes(_ old: String, _ new: String) throws -> [String] {
            JSONDifference.between(try JSONDocument(old), try JSONDocument(new)).map(\.description)
        }
        let twice = #"{"a":1,"b":{"x":1,"z":3},"a":2,"b":{"y":2}}"#
        #expect(try changes(twice, twice) == [])
        #expect(try changes(twice, #"{"b":{"y":2},"\u0061":2}"#) == [])
        #expect(try changes(twice, #"{"a":1,"b":{"y":2},"a":3}"#) == ["~ /a: 2 -> 3"])
    }

    @Test("Two spellings of one character differ, in a value as in a name")
    func spellings() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let old = try JSONDocument("{\"a\":\"\(composed)\",\"\(composed)\":1}")
        let new = try JSONDocument("{\"a\":\"\(decomposed)\",\"\(decomposed)\":1}")
        let differences = JSONDifference.between(old, new)
        let pointers = ["/a", "/\(decomposed)", "/\(composed)"]
        #expect(differences.map { Array($0.pointer.utf8) } == pointers.map { Array($0.utf8) })
        #expect(differences.map { $0.before == nil } == [false, true, false])
        #expect(differences.map { $0.after == nil } == [false, false, true])
    }

    @Test("Of a long value its beginning is told", arguments: [78, 79])
    func long(count: Int) throws {
        let text = "\"" + String(repeating: "x", count: count) + "\""
        let differences = JSONDifference.between(try JSONDocument(#"{"a":1}"#), try JSONDocument("{\"b\":\(text)}"))
        #expect(differences.map(\.pointer) == ["/b", "/a"])
        #expect(differences.first?.description == "+ /b: " + (count == 78 ? text : text.prefix(79) + "…"))
        #expect(differences.first?.before == nil && differences.first?.after == text)
    }
}
