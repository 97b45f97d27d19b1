import Push
import Testing

@testable import Stores

struct EvictionTests {
    let counts = Counts(capacity: 4)

    /// Settles a change and has it in the file.
    private func save(_ change: BadgeChange?, in checkpoint: UInt32) throws {
        _ = try counts.acknowledge(change, at: 0)
        counts.settled.take().saved(in: checkpoint)
    }

    /// Brings in so many others that whoever may be forgotten is.
    private func crowd(_ round: Int = 0) throws {
        for other in 0..<200 { _ = try counts.process("other \(round) \(other)", nil) }
    }

    /// True if the count had to be loaded.
    private func isForgotten(_ recipient: String) throws -> Bool {
        try counts.count(recipient, stored: 1000) == 1000
    }

    @Test("Who only looked is forgotten, and memory stays bounded")
    func idle() throws {
        _ = try counts.process("anna", nil, stored: 3)
        try crowd()
        #expect(try isForgotten("anna"))
        #expect(counts.live.accountCount == 4)
    }

    @Test("Nobody is forgotten before the table holds the count")
    func unsaved() throws {
        let change = try counts.process("anna", .add(1))
        try crowd(1)
        #expect(try !isForgotten("anna"))
        try save(change, in: 7)
        try crowd(2)
        #expect(try !isForgotten("anna"))
        counts.progress.foldedThrough = 6
        try crowd(3)
        #expect(try !isForgotten("anna"))
        counts.progress.foldedThrough = 7
        try crowd(4)
        #expect(try isForgotten("anna"))
    }

    @Test("When only the journal keeps accounts in memory it is asked to be folded")
    func roomWanted() throws {
        for number in 0..<4 { try save(try counts.process("recipient \(number)", .add(1)), in: 1) }
        #expect(!counts.progress.takeWish())
        _ = try counts.process("one more", nil)
        #expect(counts.progress.takeWish())
        #expect(counts.live.accountCount == 5)
    }

    @Test("A change after the one in the table keeps the account")
    func changedSince() throws {
        counts.progress.foldedThrough = 100
        try save(try counts.process("anna", .add(1)), in: 1)
        _ = try counts.process("anna", .add(1))
        try crowd()
        #expect(try counts.count("anna", stored: 1000) == 2)
    }

    @Test("A recipient whose message is still under way is not forgotten")
    func inUse() throws {
        let slot = try counts.begin("anna", stored: 3)
        try crowd()
        counts.live.end(slot, nil)
        #expect(try counts.count("anna", stored: 1000) == 3)
        try crowd(1)
        #expect(try isForgotten("anna"))
    }

    @Test("While nobody may be forgotten there is room for more, and each keeps a count")
    func overflow() throws {
        for number in 0..<1000 { _ = try counts.process("recipient \(number)", .add(Int32(number))) }
        for number in 0..<1000 { #expect(try counts.count("recipient \(number)") == Int32(number)) }
    }
}
