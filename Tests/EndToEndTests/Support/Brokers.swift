import Glibc
import PushmillKafka

/// The cluster under test: librdkafka's mock in this process, unless `PUSHMILL_TEST_BROKERS` names another.
struct Brokers: Sendable {
    private static let named = getenv("PUSHMILL_TEST_BROKERS").map { String(cString: $0) }

    /// Errors can be injected, and 5 MB a partition are kept.
    static let areMock = named == nil

    /// nil for real ones.
    let mock: MockCluster?
    let bootstrapServers: String
    private let goAway: Bool

    /// `goAway`: the test takes them down for a while, and its own clients are to see that soon. `count`: of mock ones.
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

    /// For clients of a test's own: they are soon back after an outage. Where none is to come they give no request up that a
    /// busy machine answers late, to make it twice.
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
