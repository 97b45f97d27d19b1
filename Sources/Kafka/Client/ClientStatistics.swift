import FoundationEssentials
import Synchronization

/// A client's latest measurements, which librdkafka reports every `statistics.interval.ms`.
public struct ClientStatistics: Sendable {
    public struct Partition: Sendable {
        public let id: TopicPartition
        /// The end of the log for this client: after the last record that may be read. Negative while unknown.
        public let end: Int64
        /// The offset to be fetched next. Negative while unknown.
        public let nextOffset: Int64
        /// Fetched and not yet polled.
        public let fetched: Int
        /// The broker that it is fetched from is connected. If not, the log may have grown since.
        public var isReached = true
        /// How many offsets lie behind the end, from the first record of a transaction that is still open on.
        public var hidden: Int64 = 0
    }

    public struct RoundTrip: Sendable {
        public let broker: Int32
        /// The mean of the last interval.
        public let seconds: Double
    }

    /// The partitions that a consumer works with, in no order; none of a producer.
    public let partitions: [Partition]
    /// Brokers that were sent requests in the last interval, in the order of their numbers.
    public let roundTrips: [RoundTrip]
    /// Not yet acknowledged.
    public let queuedMessages: Int
    public let queuedBytes: Int

    /// Nil if librdkafka does not write what it documents.
    init?(json: [UInt8]) {
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(json)) else { return nil }
        let reached = Set(document.brokers.values.filter(\.isConnected).map(\.nodeid))
        partitions = document.topics.flatMap { topic, numbers in
            // The number -1 is for records that have no partition yet.
            numbers.partitions.values.filter { $0.partition >= 0 }.map {
                Partition(
                    id: TopicPartition(topic, $0.partition), end: $0.ls_offset >= 0 ? $0.ls_offset : $0.hi_offset,
                    nextOffset: $0.next_offset, fetched: $0.fetchq_cnt, isReached: reached.contains($0.broker),
                    hidden: $0.ls_offset >= 0 ? max(0, $0.hi_offset - $0.ls_offset) : 0)
            }
        }
        // Entries without a number are bootstrap addresses; a logical one is a second connection to a coordinator.
        roundTrips = document.brokers.values
            .filter { $0.nodeid >= 0 && $0.source != "logical" && $0.rtt.cnt > 0 }
            .map { RoundTrip(broker: $0.nodeid, seconds: Double($0.rtt.avg) / 1e6) }
            .sorted { $0.broker < $1.broker }
        queuedMessages = document.msg_cnt
        queuedBytes = document.msg_size
    }

    /// The members that are read, under librdkafka's names.
    private struct Document: Decodable {
        struct Broker: Decodable {
            struct RoundTrip: Decodable {
                let avg: Int64
                let cnt: Int64
            }

            let nodeid: Int32
            let source: String
            let state: String
            let rtt: RoundTrip

            /// Requests are sent to it.
            var isConnected: Bool { nodeid >= 0 && source != "logical" && ["UP", "UPDATE"].contains(state) }
        }

        struct Topic: Decodable {
            struct Partition: Decodable {
                let partition: Int32
                let broker: Int32
                let fetchq_cnt: Int
                let next_offset: Int64
                let hi_offset: Int64
                let ls_offset: Int64
            }

            let partitions: [String: Partition]
        }

        private enum CodingKeys: CodingKey { case type, msg_cnt, msg_size, brokers, topics }

        let msg_cnt: Int
        let msg_size: Int
        let brokers: [String: Broker]
        let topics: [String: Topic]

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            msg_cnt = try members.decode(Int.self, forKey: .msg_cnt)
            msg_size = try members.decode(Int.self, forKey: .msg_size)
            brokers = try members.decode([String: Broker].self, forKey: .brokers)
            // Each producer has all partitions of its topics. They are most of the text, and nothing reads them.
            let isProducer = try members.decode(String.self, forKey: .type) == "producer"
            topics = isProducer ? [:] : try members.decode([String: Topic].self, forKey: .topics)
        }
    }
}

/// The latest statistics of a client. They arrive during a poll, so they are only stored then, and decoded when they
/// are read.
package final class StatisticsInbox: Sendable {
    /// The undecoded text until `latest` is read; then the decoded statistics.
    private let content = Mutex<(text: [UInt8]?, known: ClientStatistics?)>((nil, nil))

    func take(_ json: [UInt8]) { content.withLock { $0 = (json, nil) } }

    /// Nil before the first, and if they are switched off. Decodes new ones: not meant for every message.
    package var latest: ClientStatistics? {
        let (text, known) = content.withLock { $0 }
        guard let text else { return known }
        let statistics = ClientStatistics(json: text)
        // A text that came meanwhile is newer, and stays.
        content.withLock { if $0.text == text { $0 = (nil, statistics) } }
        return statistics
    }
}
