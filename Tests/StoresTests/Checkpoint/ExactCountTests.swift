import Push
import TestSupport
import Testing

@testable import Stores

struct ExactCountTests {
    @Test("Counts are exact whatever happens, and what is published twice is the same", arguments: 0..<40)
    func simulation(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let log = Self.log(&random)
        let expected = Self.expected(log)
        var published: [(partition: Int, offset: Int, count: Int32)] = []

        for _ in 0..<6 {
            let service = try SimulatedService(log, try StateFile(path: folder.stateFile, access: .alone))
            for _ in 0..<Int.random(in: 10...120, using: &random) { try step(service, &random) }
            published += service.published
        }
        let service = try SimulatedService(log, try StateFile(path: folder.stateFile, access: .alone))
        try service.finish()
        published += service.published

        for event in published {
            #expect(event.count == expected.published[event.partition][event.offset], "\(event)")
        }
        #expect(Set(published.map { "\($0.partition)/\($0.offset)" }).count == log.map(\.count).reduce(0, +))
        var stored: [String: Int32] = [:]
        try BadgeTable(try StateFile(path: folder.stateFile, access: .shared)).forEach { stored[$0.text] = $2 }
        #expect(stored == expected.final)
    }

    private func step(_ service: SimulatedService, _ random: inout SeededGenerator) throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<50: _ = try service.process(Int.random(in: 0..<3, using: &random))
        case 50..<90: service.acknowledge(Int.random(in: 0..<1000, using: &random))
        case 90..<95: try service.checkpoint()
        case 95..<97: try service.checkpoint(failing: true)
        default: try service.rebalance(Int.random(in: 0..<3, using: &random))
        }
    }

    private static func log(_ random: inout SeededGenerator) -> SimulatedService.Log {
        (0..<3).map { partition in
            (0..<Int.random(in: 20...80, using: &random)).map { _ in
                let recipient = "\(partition)" + String(repeating: "x", count: Int.random(in: 0..<7, using: &random))
                let number = Int32.random(in: 0...3, using: &random)
                return SimulatedService.Event(recipient: recipient, operation: number == 0 ? .set(0) : .add(number))
            }
        }
    }

    /// The count after each event, and each recipient's last.
    private static func expected(_ log: SimulatedService.Log) -> (published: [[Int32]], final: [String: Int32]) {
        var counts: [String: Int32] = [:]
        let published = log.map { events in
            events.map { event in
                switch event.operation {
                case .add(let number): counts[event.recipient, default: 0] += number
                case .set(let number): counts[event.recipient] = number
                }
                return counts[event.recipient] ?? 0
            }
        }
        return (published, counts)
    }
}
