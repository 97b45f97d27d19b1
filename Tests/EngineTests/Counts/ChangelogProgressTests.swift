import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("What a shard knows of its changelog's end")
struct ChangelogProgressTests {
    private let now = Instant.past + .seconds(60)
    private var progress = ChangelogProgress()

    @Test("A record of somebody else between two of the shard's calls for another reading", arguments: [0, 7])
    mutating func others(first: Int64) {
        progress.answered(at: first, now: now)
        expect(progress.rereadDue, is: .never)
        progress.answered(at: first + 2, now: now)
        expect(progress.rereadDue, is: now)
    }
}
