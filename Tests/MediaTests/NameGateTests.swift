import Push
import Testing

@testable import Media

@Suite("Names of hosts")
struct NameGateTests {
    private let start = Instant(nanoseconds: 1)

    @Test("One asks for a host's address, the others wait, and all go when it is there")
    func found() {
        var gate = NameGate<Int>()
        let first = (1...3).map { gate.admit($0, to: "h", now: start) }
        #expect(first == [.asks, .waits, .waits])
        let others = (4...5).map { gate.admit($0, to: "other", now: start) }
        #expect(others == [.asks, .waits])
        let waiting = gate.found("h", now: start)
        #expect(waiting == [2, 3])
        let later = [0, 29, 30, 30].map { gate.admit(6, to: "h", now: start + .seconds($0)) }
        #expect(later == [.goes, .goes, .asks, .waits])
    }

    @Test("Where one ends without an address, the next that is wanted asks")
    func ended() {
        var gate = NameGate<Int>()
        let first = (1...5).map { gate.admit($0, to: "h", now: start) }
        #expect(first == [.asks, .waits, .waits, .waits, .waits])
        gate.ended("h")
        let next = [gate.next { $0 > 3 }, gate.next { _ in true }]
        #expect(next == [4, nil])
        let more = gate.admit(6, to: "h", now: start)
        #expect(more == .waits)
        gate.ended("h")
        let last = gate.next { $0 > 5 }
        #expect(last == 6)
        gate.ended("h")
        let none = gate.next { _ in true }
        #expect(none == nil)
        let again = gate.admit(7, to: "h", now: start)
        #expect(again == .asks)
    }

    @Test("Only so many ask at once; the others ask in their turn, or go when somebody has asked for them")
    func bounded() {
        var gate = NameGate<Int>(mostAsking: 2)
        let first = [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "c"), (6, "e"), (7, "a")].map {
            gate.admit($0, to: $1, now: start)
        }
        #expect(first == [.asks, .asks, .waits, .waits, .waits, .waits, .waits])
        let early = gate.next { _ in true }
        #expect(early == nil)

        gate.ended("a")
        let second = [gate.next { $0 != 4 }, gate.next { $0 != 4 }]
        #expect(second == [3, nil])
        let found = gate.found("b", now: start)
        #expect(found == [])
        // Nobody wants 4 any more, and 7 has to wait for its turn as it had not asked before.
        let third = [gate.next { $0 != 4 }, gate.next { $0 != 4 }]
        #expect(third == [6, nil])
        let waited = gate.found("c", now: start)
        #expect(waited == [5])
        let last = [gate.next { _ in true }, gate.next { _ in true }]
        #expect(last == [7, nil])
        let known = gate.admit(8, to: "c", now: start)
        #expect(known == .goes)
    }
}
