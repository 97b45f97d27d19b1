import PushmillTestSupport
import Testing

@Suite("What tests compare by")
struct ExpectTests {
    @Test("A comparison that does not hold is an issue, with both values, the comment, and where it was made")
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
