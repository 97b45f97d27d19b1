import PushmillTestSupport
import Testing

@testable import PushmillReplay

@Suite("Places in a topic")
struct PointInTimeTests {
    private let now: Int64 = 1_800_000_000_000

    @Test(
        "A date, a time or an age is read as a time",
        arguments: [
            ("1970-01-01", 0), ("2026-11-20T08:00:00Z", 1_795_161_600_000), ("2026-11-20T08:00", 1_795_161_600_000),
            ("2026-11-20T09:30:00.25+01:30", 1_795_161_600_250), ("2026-11-20T00:00:00-08:00", 1_795_161_600_000),
            ("2024-02-29", 1_709_164_800_000), ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("90s", 1_799_999_910_000), ("15m", 1_799_999_100_000), ("2h", 1_799_992_800_000),
            ("1d", 1_799_913_600_000),
        ])
    func times(_ text: String, _ milliseconds: Int64) {
        expect(TopicRange.Bound(text, now: now), is: .time(milliseconds))
    }

    @Test("A bare number is an offset")
    func offsets() { expect(TopicRange.Bound("1200", now: now), is: .offset(1200)) }

    @Test(
        "Any other text is neither a time nor an offset",
        arguments: [
            "", "-1", "yesterday", "2026-00-01", "2026-13-01", "2026-11-00", "2026-02-29", "2026-02-31", "2026-04-31",
            "2026-11-32", "2026-11-20T25:00", "2026-11-20T08:00+24:00", "2026-11-20T08:00-01:60", "2026-11-20T０８:00Z",
            "h", "-2h", "2w", "9223372036854775807d",
        ])
    func neither(_ text: String) { #expect(TopicRange.Bound(text, now: now) == nil) }
}
