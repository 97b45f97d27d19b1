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
        let next = gate.ended("h") { $0 > 3 }
        #expect(next == 4)
        let more = gate.admit(6, to: "h", now: start)
        #expect(more == .waits)
        let last = [gate.ended("h") { $0 > 5 }, gate.ended("h") { _ in true }]
        #expect(last == [6, nil])
        let again = gate.admit(7, to: "h", now: start)
        #expect(again == .asks)
    }
}
