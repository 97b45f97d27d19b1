import PushmillPayload
import PushmillStages
import PushmillStores
import PushmillTelemetry
import PushmillTestSupport
import Testing

@testable import PushmillEngine
@testable import PushmillKafka

@Suite("Group membership in a shard's ports")
struct MembershipTests {
    /// Ports whose brokers are unavailable: all events come from the test.
    private func ports(counts: CountFolder? = nil) throws -> KafkaPorts {
        let properties = ClientProperties([("bootstrap.servers", "127.0.0.1:1"), ("group.id", "mill")])
        let settings = EngineSettings(
            consumer: properties, producer: properties, input: ["events", "others"], output: "out",
            deadLetters: "dead")
        let metrics = ServiceMetrics(
            registry: MetricRegistry(), stages: [], outcomes: Outcome.allCases.map { "\($0.name)" },
            deadLetterReasons: DeadLetterReason.allCases.map { "\($0.name)" })
        let environment = EngineEnvironment(
            chain: Chain([], settings: Chain.Settings()), counts: counts, contacts: nil, metrics: metrics, log: Log())
        return try KafkaPorts(settings, environment, ShardInbox(shard: 0))
    }

    @Test("A member stays one after it loses some of its partitions, but not all")
    func losses() throws {
        var ports = try ports()
        let (event, other) = (TopicPartition("events", 0), TopicPartition("others", 0))
        let steps: [(event: ConsumerEvent, isJoined: Bool)] = [
            (.assigned([event, other]), true), (.lost([other]), true), (.lost([event]), false), (.assigned([]), true),
            // A partition that was given back before does not count as kept.
            (.assigned([event, other]), true), (.revoked([other]), true), (.lost([event]), false),
        ]
        for step in steps {
            ports.consumer.sinks.group.events = [step.event]
            _ = ports.takeEvents()
            let hasJoined = ports.hasJoined
            expect(hasJoined, is: step.isJoined, "\(step.event)")
        }
    }

    @Test("Readiness says what the group refuses a member for, until the member has an assignment")
    func refusal() throws {
        var ports = try ports()
        func sentence(_ event: ConsumerEvent) -> String? {
            ports.consumer.sinks.group.events = [event]
            _ = ports.takeEvents()
            var figures = ShardFigures()
            ports.addClients(to: &figures)
            let reasons = ShardThreads.reasons(isEnding: false, [figures], contacts: nil, counts: true)
            return reasons.first { $0.word == "not-joined" }?.sentence
        }
        expect(sentence(.unowned([])), is: "the group has not answered yet")
        let refusal = KafkaError("no room")
        expect(sentence(.failed(refusal)), is: "the group has not accepted this member: \(refusal)")
        #expect(sentence(.assigned([])) == nil)
        expect(sentence(.lost([])), is: "the group has not answered yet")
    }

    @Test("A group that does not answer for longer than a rebalance takes is late")
    func late() throws {
        var ports = try ports()
        let joins = ports.consumer.sinks.joins
        var isLate: Bool {
            var figures = ShardFigures()
            ports.addClients(to: &figures)
            return figures.isGroupLate
        }
        // The limit is a session, a drain and ten seconds.
        joins.expect(since: ports.now.nanoseconds - 59_000_000_000)
        expect(isLate, is: false)
        expect(joins.end(), is: true)
        joins.expect(since: ports.now.nanoseconds - 61_000_000_000)
        // Asking again, because no answer came, does not reset the time.
        joins.expect(since: ports.now.nanoseconds)
        expect(isLate, is: true)
        expect(joins.end(), is: true)
        expect(isLate, is: false)
    }

    @Test("Dead letters that wait for longer than an answer takes are reported, until they are sent")
    func lettersHeld() throws {
        var ports = try ports()
        // librdkafka's own events wait to be taken as reports do.
        ports.lastAnswer = ports.now
        let steps: [(since: UInt64, isAnswered: Bool)] = [(0, true), (4_999, true), (5_001, false)]
        for step in steps {
            ports.lettersHeldSince = Instant(nanoseconds: ports.now.nanoseconds - step.since * 1_000_000)
            var figures = ShardFigures()
            figures.areLettersHeld = true
            ports.addClients(to: &figures)
            expect(figures.isAnswered, is: step.isAnswered, "\(step.since)")
        }
        var figures = ShardFigures()
        ports.addClients(to: &figures)
        #expect(figures.isAnswered && ports.lettersHeldSince == nil)
    }

    @Test("Only the shard keeps the file of a partition's counts open")
    func countsAgain() throws {
        let folder = try TemporaryFolder()
        let counts = try CountFolder(
            path: "\(folder.path)/counts", cluster: "c", changelog: "badges", mostFiles: 1)
        var ports = try ports(counts: counts)
        let partition = TopicPartition("events", 0)
        let position = RecordPosition(partition: 0, offset: 9, timestamp: 1)
        expect(ports.openDisk(partition).write([], at: position, most: .max), is: .written)
        expect(ports.openDisk(partition).position, is: position)
    }
}
