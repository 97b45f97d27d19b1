import PushmillPayload
import PushmillTestSupport
import Testing

@Suite("Differences between documents")
struct JSONDifferenceTests {
    @Test("New and changed values are listed in the new document's order, then removed ones")
    func between() throws {
        let old = try JSONDocument(#"{"a":1,"gone":{},"b":{"c":[1,2],"d/e":"x","f":"é"}}"#)
        let new = try JSONDocument(#"{"b":{"f":"é","c":[1,3,4],"d/e":"y"},"n~":null,"a":1}"#)
        expect(
            JSONDifference.between(old, new).map(\.description),
            is: [
                "~ /b/c/1: 2 -> 3", "+ /b/c/2: 4", #"~ /b/d~1e: "x" -> "y""#, "+ /n~0: null", "- /gone: {}",
            ])
        expect(JSONDifference.between(new, new), is: [])
    }

    @Test("Empty arrays and objects count as values, also at the root")
    func containers() throws {
        func changes(_ old: String, _ new: String) throws -> [String] {
            JSONDifference.between(try JSONDocument(old), try JSONDocument(new)).map(\.description)
        }
        try expect(changes("[]", "{}"), is: ["~ : [] -> {}"])
        try expect(changes("[]", "[[],1]"), is: ["+ /0: []", "+ /1: 1", "- : []"])
        try expect(changes(#"{"a":1,"a":2}"#, #"{"a":2}"#), is: [])
        try expect(changes("[\"\u{EB}\"]", "[\"e\u{308}\"]").count, is: 1)
    }

    @Test("The last of several members with one name counts, on both sides, with all below it")
    func duplicates() throws {
        func changes(_ old: String, _ new: String) throws -> [String] {
            JSONDifference.between(try JSONDocument(old), try JSONDocument(new)).map(\.description)
        }
        let twice = #"{"a":1,"b":{"x":1,"z":3},"a":2,"b":{"y":2}}"#
        try expect(changes(twice, twice), is: [])
        try expect(changes(twice, #"{"b":{"y":2},"\u0061":2}"#), is: [])
        try expect(changes(twice, #"{"a":1,"b":{"y":2},"a":3}"#), is: ["~ /a: 2 -> 3"])
    }

    @Test("A composed and a decomposed character differ, in values and in names")
    func spellings() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let old = try JSONDocument("{\"a\":\"\(composed)\",\"\(composed)\":1}")
        let new = try JSONDocument("{\"a\":\"\(decomposed)\",\"\(decomposed)\":1}")
        let differences = JSONDifference.between(old, new)
        let pointers = ["/a", "/\(decomposed)", "/\(composed)"]
        expect(differences.map { Array($0.pointer.utf8) }, is: pointers.map { Array($0.utf8) })
        expect(differences.map { $0.before == nil }, is: [false, true, false])
        expect(differences.map { $0.after == nil }, is: [false, false, true])
    }

    @Test("Only the beginning of a long value is shown", arguments: [78, 79])
    func long(count: Int) throws {
        let text = "\"" + String(repeating: "x", count: count) + "\""
        let differences = JSONDifference.between(try JSONDocument(#"{"a":1}"#), try JSONDocument("{\"b\":\(text)}"))
        expect(differences.map(\.pointer), is: ["/b", "/a"])
        expect(differences.first?.description, is: "+ /b: " + (count == 78 ? text : text.prefix(79) + "…"))
        #expect(differences.first?.before == nil && differences.first?.after == text)
    }
}
