import PushmillTestSupport
import Testing

@testable import PushmillStages

@Suite("Spelling")
struct SpellingTests {
    static let known = ["deadline", "drain", "max-in-flight", "guarantee", "warning"]

    @Test(
        "The nearest name is found",
        arguments: [
            ("deadlin", "deadline"), ("deadlnie", "deadline"), ("DEADLINE", "deadline"), ("drian", "drain"),
            ("max_in_flight", "max-in-flight"), ("garantee", "guarantee"), ("warn", "warning"),
        ])
    func nearest(typed: String, meant: String) {
        expect(Spelling.nearest(to: typed, in: Self.known), is: meant)
    }

    @Test("No suggestion is made if no name is near", arguments: ["", "zzzz", "deadbeef", "b", "lanes"])
    func nothing(typed: String) {
        #expect(Spelling.nearest(to: typed, in: ["deadline", "drain", "warning", "a"]) == nil)
    }

    @Test("A very long name gets no suggestion") func long() {
        expect(Spelling.question(String(repeating: "deadline", count: 100_000), ["deadline"]), is: "")
    }
}
