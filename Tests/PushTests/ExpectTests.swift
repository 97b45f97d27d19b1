import PushmillTestSupport
import Testing

@Suite("Comparisons in tests")
struct ExpectTests {
    @Test("A failed comparison is an issue with both values, the comment and the source location")
    func differs() {
        withKnownIssue {
            expect("a\n", is: "b", "of \(2)")
        } matching: { issue in
            issue.comments.map(\.rawValue) == [#"is "a\n", not "b": of 2"#]
                && issue.sourceLocation?.line == #line - 3
                && issue.sourceLocation?.fileID == #fileID
        }
        withKnownIssue {
            expect(nil, is: 1)
        } matching: { issue in
            issue.comments.map(\.rawValue) == ["is nil, not Optional(1)"]
        }
    }
}
