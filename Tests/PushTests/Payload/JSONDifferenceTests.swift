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
