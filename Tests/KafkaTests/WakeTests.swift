import Kafka
import TestSupport
import Testing

@Suite("Polls that are woken", .serialized, .ownThread)
struct WakeTests {
    /// As a clock that was set back makes a short time-out.
    private static let long: Int32 = 30_000

    /// Nothing tells when a poll has begun to wait.
    private static func again(_ wake: @escaping @Sendable () -> Void) -> Task<Void, Never> {
        Task.detached {
            while !Task.isCancelled {
                wake()
                await Task.yield()
            }
        }
    }

    @Test("A consumer's poll ends when it is woken")
    func consumer() throws {
        let peer = try Peer()
        defer { withExtendedLifetime(peer) {} }
        let consumer = try peer.consumer(group: "g")
        var batch = RecordBatch(capacity: 1)
        let begin = ContinuousClock.now
        let waking = Self.again { consumer.wake() }
        _ = consumer.poll(milliseconds: Self.long, into: &batch)
        waking.cancel()
        #expect(ContinuousClock.now - begin < .milliseconds(Self.long))
    }

    @Test("A producer's poll ends when it is woken")
    func producer() throws {
        let peer = try Peer()
        let producer = peer.producer
        var reports: [DeliveryReport] = []
        let begin = ContinuousClock.now
        let waking = Self.again { producer.wake() }
        producer.poll(milliseconds: Self.long, into: &reports)
        waking.cancel()
        #expect(ContinuousClock.now - begin < .milliseconds(Self.long))
    }
}
