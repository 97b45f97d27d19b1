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
        var isCut = progress.answered(at: first, isTransactional: false, now: now)
        expect(progress.rereadDue, is: .never)
        isCut = progress.answered(at: first + 2, isTransactional: false, now: now) || isCut
        expect(progress.rereadDue, is: now)
        #expect(!isCut && !progress.isCut)
    }

    @Test("What is between two records of transactions is a marker, but an offset that goes back tells of a cut")
    mutating func markers() {
        var told: [Bool] = []
        for offset: Int64 in [0, 2, 6] {
            told.append(progress.answered(at: offset, isTransactional: true, now: now))
            expect(progress.rereadDue, is: .never)
        }
        told.append(progress.answered(at: 5, isTransactional: true, now: now))
        expect(told, is: [false, false, false, true])
        #expect(progress.isCut && progress.rereadDue == now)
    }

    @Test("An offset that goes back is told once, and calls for another reading of all")
    mutating func cut() {
        var told: [Bool] = []
        // Brokers do not say the offset of a record that they already had.
        for offset: Int64 in [7, 8, -1, 9, 5, 6, 4] {
            told.append(progress.answered(at: offset, isTransactional: false, now: now))
        }
        expect(told, is: [false, false, false, false, true, false, false])
        #expect(progress.isCut && progress.rereadDue == now && progress.end == nil)
        progress.completed()
        #expect(progress.isCut)
        #expect(!read(next: 4) && progress.isCut && progress.rereadDue == .never)
        progress.completed()
        #expect(!progress.isCut)
        let isCut = progress.answered(at: 3, isTransactional: false, now: now)
        #expect(isCut)
    }

    @Test("A log that ends before what was stored has lost records, though it may have ended earlier before that")
    mutating func shorter() {
        _ = progress.answered(at: 7, isTransactional: true, now: now)
        #expect(!read(next: 8) && !read(next: 9) && !progress.isCut)
        #expect(read(next: 8) && progress.isCut && progress.rereadDue == now && progress.end == nil)
        // Read from its beginning.
        #expect(!read(next: 8) && progress.rereadDue == .never)
        progress.completed()
        #expect(!progress.isCut)
    }

    private mutating func read(next: Int64) -> Bool { progress.read(to: nil, next: next, now: now) }
}
