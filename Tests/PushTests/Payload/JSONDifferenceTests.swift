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
}
