import PushmillKafka
import PushmillStages
import PushmillStores
import PushmillTelemetry
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("News for operators")
struct NewsTests {
    private static let partition = TopicPartition("events", 2)
    private static let partitions = [TopicPartition("events", 1), partition, TopicPartition("events", 5)]
    private static let position = RecordPosition(partition: 3, offset: 40)
    private static let fields: [LogField] = [.topic("events"), .partition(2), .offset(7)]
    private static let listed: [LogField] = [.count(3), .partitions("events/1-2,5")]
    private static let record: [LogField] = [.topic("badges"), .partition(3), .offset(40), .reason("odd")]

    struct Line: Sendable {
        let news: ShardNews
        let level: LogLevel
        let fields: [LogField]

        init(_ news: ShardNews, _ level: LogLevel, _ fields: [LogField]) {
            self.news = news
            self.level = level
            self.fields = fields
        }
    }

    private static let lines = [
        Line(.assigned(partitions), .info, listed),
        Line(.revoked(partitions), .info, listed),
        Line(.lost(partitions), .warning, listed),
        Line(.reading(partitions), .info, listed),
        Line(.givenBack(partitions), .info, listed),
        Line(.drainTooLong(unfinished: 4), .warning, [.count(4)]),
        Line(.foreignCommit(Position(partition, offset: 7), reason: "odd"), .warning, fields + [.reason("odd")]),
        Line(.newerCommit(Position(partition, offset: 7), reason: "odd"), .error, fields + [.reason("odd")]),
        Line(.logMadeAnew(partition, offset: 7), .warning, fields),
        Line(.logExpired(partition, from: 7, to: 19), .error, fields + [.count(12)]),
        Line(.offsetDenied(partition, offset: 7), .warning, fields),
        Line(.offsetMissing(partition), .error, [.topic("events"), .partition(2)]),
        Line(.windowFull(partition, offset: 7), .warning, fields),
        Line(
            .recipientsHurried(count: 4, first: Position(TopicPartition("in", 2), offset: 9)), .warning,
            [.count(4), .source("in/2/9")]),
        Line(.metadataCut(partition, leftOut: 4), .warning, [.topic("events"), .partition(2), .count(4)]),
        Line(.commitFailed(reason: "odd"), .warning, [.reason("odd")]),
        Line(.transactionAborted(reason: "odd"), .warning, [.error(text: "odd")]),
        Line(.transactionsTakenOver, .info, []),
        Line(.producerReplaced(reason: "odd"), .warning, [.error(text: "odd")]),
        Line(.outputsReturned(reason: "odd"), .warning, [.reason("odd")]),
        Line(.outputsGoOn, .info, []),
        Line(
            .outputRefused(partition, offset: 7, reason: "odd"), .error, [.source("events/2/7"), .error(text: "odd")]),
        Line(.changelogRefused(reason: "odd"), .error, [.error(text: "odd")]),
        Line(.changelogNotARecord(position, reason: "odd"), .warning, record),
        Line(.changelogNewer(position, reason: "odd"), .error, record),
        Line(.changelogAnew(partition: 3), .warning, [.topic("badges"), .partition(3)]),
        Line(
            .changelogHeldUp(partition: 3, offset: 40), .info, [.topic("badges"), .partition(3), .offset(40)]),
        Line(.restoring([1, 0]), .info, [.count(2), .partitions("badges/0-1")]),
        Line(.restored([4], records: 9), .info, [.topic("badges"), .partitions("badges/4"), .count(9)]),
        Line(.diskFailed(partition), .error, [.topic("events"), .partition(2)]),
        Line(.diskNotWritten(partition), .error, [.topic("events"), .partition(2)]),
        Line(.memberIDChanged, .warning, []),
        Line(.wasAway(.milliseconds(22_500)), .warning, [.seconds(22.5)]),
        Line(.confirmed, .info, []),
        Line(.ending(inFlight: 4), .info, [.count(4)]),
        Line(.leftUnfinished(4), .warning, [.count(4)]),
        Line(.notLeftInTime, .warning, []),
    ]

    private let log = Log()
    private let environment: EngineEnvironment

    init() {
        let registry = MetricRegistry()
        let metrics = ServiceMetrics(registry: registry, stages: [], outcomes: [], deadLetterReasons: [])
        environment = EngineEnvironment(
            chain: Chain([]), counts: nil, contacts: nil, metrics: metrics, log: log)
    }

    private var written: [LogLine] {
        var cursor = 0
        return log.ring.read(from: &cursor).lines
    }

    @Test("Each piece of news is one line of the log, with its level and fields", arguments: lines)
    func line(expected: Line) throws {
        environment.tell(expected.news, changelog: "badges", of: nil)
        try #require(written.count == 1)
        expect(written[0].level, is: expected.level)
        expect(written[0].fields, is: expected.fields)
    }

    @Test("An assignment without partitions is not logged")
    func nothing() {
        environment.tell(.assigned([]), changelog: "badges", of: nil)
        #expect(written.isEmpty)
    }

    @Test("Partitions that the changelog did not have at the start are reported when they are assigned")
    func addedPartitions() {
        environment.tell(.assigned(Self.partitions), changelog: "badges", of: 6)
        expect(written.map(\.level), is: [.info])
        environment.tell(.assigned(Self.partitions), changelog: "badges", of: 2)
        expect(written.map(\.level), is: [.info, .info, .warning])
        expect(written.last?.fields, is: [.topic("badges"), .count(2), .partitions("events/2,5")])
    }

    @Test("News with a counter is counted")
    func counted() {
        for line in Self.lines { environment.tell(line.news, changelog: "badges", of: nil) }
        let metrics = environment.metrics
        expect(metrics.partitionsAssigned.value, is: 3)
        expect(metrics.partitionsRevoked.value, is: 3)
        expect(metrics.partitionsLost.value, is: 3)
        expect(metrics.checkpointFailures.value, is: 4)
        expect(metrics.transactionsAborted.value, is: 1)
        expect(metrics.outputsReturned.value, is: 1)
    }

    @Test("librdkafka's log lines keep their level, without keys and warnings about the engine's own properties")
    func library() {
        let sink = environment.kafkaLog
        for level in Int32(0)...8 { sink(level, "FETCH", "said") }
        sink(4, "CONFWARN", "Configuration property enable.gapless.guarantee is experimental")
        sink(7, "CONF", "  ssl.certificate.pem = -----BEGIN PRIVATE KEY-----\nMIGH")
        sink(4, "CONFWARN", "another")
        sink(4, "FAIL", "enable.gapless.guarantee")
        expect(
            written.map(\.level), is: [.error, .error, .error, .error, .warning, .info, .info, .warning, .warning])
        expect(
            written.suffix(2).map(\.fields),
            is: [
                [.component("CONFWARN"), .error(text: "another")],
                [.component("FAIL"), .error(text: "enable.gapless.guarantee")],
            ])
        expect(LogLevel(syslog: 7), is: .debug)
        expect(written.first?.fields, is: [.component("FETCH"), .error(text: "said")])
    }

    @Test("Many partitions are listed in one field, by topic and in ranges")
    func summary() {
        let partitions = [(1, "b"), (7, "a"), (3, "a"), (4, "a"), (5, "a"), (.max, "a")] as [(Int32, String)]
        expect(partitions.map { TopicPartition($0.1, $0.0) }.summary, is: "a/3-5,7,2147483647 b/1")
        expect([TopicPartition]().summary, is: "")
    }
}
