import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

/// Suspends once on the pool.
struct PoolStage: Stage {
    let name = "pool"

    func didReceive(_ content: inout NotificationContent, context: StageContext) async -> StageResult {
        await Task.yield()
        return .ok
    }
}

extension KafkaPorts {
    /// Runs one message alone.
    mutating func begin(
        _ message: Message, entry: Int, taken: Instant, now: Instant, count: Int32?, isCounted: Bool
    ) -> ChainStep {
        let turn = MessageTurn(message, entry: UInt32(entry), taken: taken, count: count, isCounted: isCounted)
        begin([turn], now: now)
        return takeStep(0, of: turn, now: now)
    }
}

@Suite("Messages that run together")
struct MessageGroupTests {
    private static let tag: UInt64 = 7 << 32 | 3

    @Test("Each has its own output, and one that is given up before its stage has begun leaves nothing behind")
    func group() throws {
        let peer = try ServicePeer(
            value: #"{"aps":{"alert":"hello","mutable-content":1,"badge":1}}"#,
            links: [ChainLink(PoolStage()), ChainLink(BadgeStage(mode: .increment))])
        var ports = try KafkaPorts(peer.settings, peer.environment, peer.inbox)
        _ = ports.number(ofTopic: "events")
        let message = try peer.record(of: "events")
        defer { ports.release(message) }
        for isLate in [false, true] {
            // In time they would wait in a stage, too late they end at once.
            let turns = (0..<3).map { index in
                MessageTurn(
                    message, entry: UInt32(3 + index), taken: isLate ? nil : ports.now, count: Int32(index * 10),
                    isCounted: false)
            }
            ports.begin(turns, now: ports.now)
            guard isLate else { continue }
            for (index, turn) in turns.enumerated() {
                guard case .ended = ports.takeStep(index, of: turn, now: ports.now) else {
                    throw KafkaError("a stage was begun")
                }
                expectEqual(ports.publish(tag: Self.tag), .queued)
            }
        }
        var values: Set<String> = []
        for offset in 0..<3 { values.insert(try peer.stored(in: "out", at: Int64(offset)).value ?? "null") }
        expect(
            values, is: Set([1, 11, 21].map { #"{"aps":{"alert":"hello","mutable-content":1,"badge":\#($0)}}"# }))
        let isIdle = peer.inbox.results.take().isEmpty
        #expect(isIdle)
    }
}
