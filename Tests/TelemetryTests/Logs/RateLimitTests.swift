import PushmillTestSupport
import Testing

@testable import PushmillTelemetry

@Suite struct RateLimitTests {
    private var limit = RateLimit()
    private let second: Int64 = 1_000_000_000

    private mutating func fill(at now: Int64, beyond: Int) {
        for _ in 0..<RateLimit.burst + beyond { _ = limit.admit("A", level: .info, now: now) }
    }

    @Test("Held-back lines of a message that stops are reported once its window ends")
    mutating func remainder() {
        fill(at: 0, beyond: 3)
        #expect(limit.takeRemainders(now: 9 * second).isEmpty)
        let told = limit.takeRemainders(now: 10 * second)
        expect(told.map(\.heldBack), is: [3])
        expect(told.first?.level, is: .info)
        #expect(limit.takeRemainders(now: 20 * second).isEmpty)
    }

    @Test("At the end all held-back lines are reported")
    mutating func force() {
        fill(at: 0, beyond: 1)
        expect(limit.takeRemainders(now: 0, force: true).map(\.heldBack), is: [1])
    }

    @Test("Setting the clock back ends the window")
    mutating func setBack() {
        fill(at: 100 * second, beyond: 2)
        expect(limit.admit("A", level: .info, now: 0), is: .write(heldBack: 2))
    }

    @Test("Messages, and levels of one message, are limited separately")
    mutating func apart() {
        fill(at: 0, beyond: 1)
        expect(limit.admit("B", level: .info, now: 0), is: .write(heldBack: 0))
        expect(limit.admit("A", level: .error, now: 0), is: .write(heldBack: 0))
        expect(limit.admit("A", level: .info, now: 0), is: .hold)
    }

    @Test(
        "A noisy source silences no other, and its held-back lines are reported by name",
        arguments: [
            ([LogField.stage("decrypt")], [LogField.stage("contact")]), ([.component("FAIL")], [.component("TXNERR")]),
            ([.component("FAIL"), .stage("contact")], [.component("FAIL")]),
        ])
    mutating func speakers(_ loud: [LogField], _ other: [LogField]) {
        for _ in 0..<RateLimit.burst { _ = limit.admit("says", level: .warning, by: loud, now: 0) }
        expect(limit.admit("says", level: .warning, by: loud, now: 0), is: .hold)
        expect(limit.admit("says", level: .warning, by: other, now: 0), is: .write(heldBack: 0))
        expect(limit.admit("says", level: .warning, now: 0), is: .write(heldBack: 0))
        let told = limit.takeRemainders(now: 0, force: true)
        #expect(told.map(\.speakers) == [loud] && told.map(\.heldBack) == [1])
    }
}
