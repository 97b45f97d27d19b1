import PushmillKafka
import PushmillTestSupport
import Testing

@Suite("Polls that are woken", .serialized, .ownThread)
struct WakeTests {
    /// As a clock that was set back makes a short time-out.
    private static let long: Int32 = 30_000

    @Test("A consumer's poll ends when it is woken, also before it has begun")
    func consumer() throws {
        let peer = try Peer()
        defer { withExtendedLifetime(peer) {} }
        let consumer = try peer.consumer(group: "g")
        var batch = RecordBatch(capacity: 1)
        let begin = ContinuousClock.now
        consumer.wake()
        _ = consumer.poll(milliseconds: Self.long, into: &batch)
        #expect(ContinuousClock.now - begin < .milliseconds(Self.long))
    }

    @Test("A producer's poll ends when it is woken, also before it has begun")
    func producer() throws {
        let peer = try Peer()
        let producer = peer.producer
        var reports: [DeliveryReport] = []
        let begin = ContinuousClock.now
        producer.wake()
        producer.poll(milliseconds: Self.long, into: &reports)
        #expect(ContinuousClock.now - begin < .milliseconds(Self.long))
    }
}
