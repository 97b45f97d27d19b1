import Glibc
import PushmillKafka

/// The cluster under test: librdkafka's mock in this process, unless `PUSHMILL_TEST_BROKERS` names another.
struct Brokers: Sendable {
    private static let named = getenv("PUSHMILL_TEST_BROKERS").map { String(cString: $0) }

    /// The mock allows injected errors, and keeps 5 MB per partition.
    static let areMock = named == nil

    /// nil for real brokers.
    let mock: MockCluster?
    let bootstrapServers: String
    private let goAway: Bool

    /// `goAway`: the test takes brokers down for a while, and its clients must notice soon. `count`: of mock brokers.
    init(goAway: Bool = false, count: Int = 1) throws {
        mock = Self.areMock ? try MockCluster(brokers: count) : nil
        bootstrapServers = mock?.bootstrapServers ?? Self.named ?? ""
        self.goAway = goAway
    }

    /// Real brokers allow no shorter session than 6 s unless configured; the mock answers no first join within 3 s.
    static let session: [(name: String, value: String)] =
        areMock
        ? [("session.timeout.ms", "3500"), ("heartbeat.interval.ms", "300")]
        : [("session.timeout.ms", "6000"), ("heartbeat.interval.ms", "300")]

    /// For a test's own clients, which reconnect soon after an outage. Without outages they wait for a busy machine's
    /// late answers instead of repeating requests.
    func properties(_ more: [(name: String, value: String)] = []) -> ClientProperties {
        let patience = [("reconnect.backoff.max.ms", "500"), ("socket.timeout.ms", goAway ? "5000" : "30000")]
        return ClientProperties([("bootstrap.servers", bootstrapServers)] + patience + more)
    }

    /// Blocks.
    func createTopic(_ name: String, partitions: Int, settings: [(name: String, value: String)] = []) throws {
        if let mock {
            try mock.createTopic(name, partitions: partitions)
        } else {
            try ClusterClient(properties()).createTopic(
                name, partitions: partitions, settings: settings, milliseconds: 30_000)
        }
    }
}
