import Dispatch
import PushmillKafka
import PushmillTestSupport
import Testing

@Suite("Following a changelog", .serialized, .ownThread)
struct ChangelogReaderTests {
    private final class Follower {
        let signal = WakeSignal()
        let reader: ChangelogReader
        var offsets: [Int32: [Int64]] = [:]
        var ends: [Int32: Int64] = [:]
        var outOfLog: Set<Int32> = []
        var isWhole = true

        init(_ cluster: MockCluster, _ more: [(name: String, value: String)] = []) throws {
            reader = try ChangelogReader(
                "t",
                ClientProperties(
                    [("bootstrap.servers", cluster.bootstrapServers), ("fetch.wait.max.ms", "20")] + more),
                signal: signal, log: { _, _, _ in })
        }

        func until(_ holds: (Follower) -> Bool) throws {
            let limit = ContinuousClock.now + .seconds(60)
            while !holds(self) {
                guard .now < limit else { throw KafkaError("never: \(offsets) \(ends)") }
                let isEmpty = reader.poll(limit: 7) { event in
                    switch event {
                    case .record(let partition, let offset, _, _, _): offsets[partition, default: []].append(offset)
                    case .end(let partition, let offset, let isWhole):
                        ends[partition] = offset
                        self.isWhole = self.isWhole && isWhole
                    case .outOfLog(let partition): outOfLog.insert(partition)
                    case .failed: break
                    }
                }
                if isEmpty { signal.wait(nanoseconds: 100_000_000) }
            }
        }
    }

    @Test("Partitions are read from their offsets to their ends while others come and go")
    func replicate() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 3)
        try peer.fill("t", partitions: 3, each: 20)
        let follower = try Follower(peer.cluster)
        try follower.reader.replicate([(partition: 0, offset: Position.beginning), (partition: 1, offset: 15)])
        try follower.until { $0.ends.count == 2 }
        expect(follower.offsets, is: [0: Array(0..<20), 1: Array(15..<20)])
        expect(follower.ends, is: [0: 20, 1: 20])
        #expect(follower.isWhole)
        // Partition 1 stays where it is, 0 goes, 2 comes.
        try follower.reader.replicate([(partition: 1, offset: 20), (partition: 2, offset: 0)])
        try follower.until { $0.ends.count == 3 }
        _ = try peer.publish("v", to: "t", partition: 1)
        _ = try peer.publish("v", to: "t", partition: 0)
        _ = peer.reports(2)
        try follower.until { $0.ends[1] == 21 }
        expect(follower.offsets, is: [0: Array(0..<20), 1: Array(15..<21), 2: Array(0..<20)])
        for _ in 0..<20 { try follower.reader.replicate([(partition: 1, offset: 3)]) }
        try follower.reader.replicate([(partition: 1, offset: 4)])
        follower.offsets = [:]
        follower.ends = [:]
        try follower.until { $0.ends[1] == 21 }
        expect(follower.offsets[1]?.suffix(17), is: Array(4..<21)[...])
        #expect(follower.outOfLog.isEmpty)
    }

    @Test("A partition out of its log or without a leader delays no other partition")
    func outOfLog() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 3)
        try peer.fill("t", partitions: 3, each: 5)
        peer.cluster.setLeader(of: TopicPartition("t", 2), broker: -1)
        let follower = try Follower(peer.cluster)
        try follower.reader.replicate([
            (partition: 0, offset: 900), (partition: 1, offset: 0), (partition: 2, offset: Position.beginning),
        ])
        try follower.until { $0.ends[1] == 5 && $0.outOfLog == [0] }
        expect(follower.offsets, is: [1: Array(0..<5)])
        try follower.reader.replicate([
            (partition: 0, offset: Position.beginning), (partition: 1, offset: 5),
            (partition: 2, offset: Position.beginning),
        ])
        try follower.until { $0.ends[0] == 5 }
        expect(follower.offsets, is: [0: Array(0..<5), 1: Array(0..<5)])
        peer.cluster.setLeader(of: TopicPartition("t", 2), broker: 1)
        try follower.until { $0.ends[2] == 5 }
        expect(follower.offsets[2], is: Array(0..<5))
    }

    @Test("Releasing a reader of a deleted topic waits only a bounded time for its end")
    func deleted() throws {
        let peer = try Peer()
        nonisolated(unsafe) let follower = try followerOfDeleted(peer)
        let ended = DispatchSemaphore(value: 0)
        DispatchQueue(label: "end of a reader").async {
            follower.release()
            ended.signal()
        }
        expect(ended.wait(timeout: .now() + 10), is: .success)
    }

    /// A follower that read a partition and gave it back before the topic was deleted.
    private func followerOfDeleted(_ peer: Peer) throws -> Unmanaged<Follower> {
        try peer.cluster.createTopic("t", partitions: 1)
        try peer.fill("t", partitions: 1, each: 1)
        let follower = try Follower(
            peer.cluster,
            [("topic.metadata.refresh.interval.ms", "500"), ("topic.metadata.propagation.max.ms", "1000")])
        try follower.reader.replicate([(partition: 0, offset: 0)])
        try follower.until { $0.ends[0] == 1 }
        try follower.reader.replicate([])
        // UNKNOWN_TOPIC_OR_PARTITION
        peer.cluster.setTopicError("t", code: 3)
        let limit = ContinuousClock.now + .seconds(3)
        try follower.until { _ in ContinuousClock.now >= limit }
        return .passRetained(follower)
    }
}
