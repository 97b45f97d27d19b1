public import Pushmill
import PushmillReplay
import Synchronization

/// Runs stages on payloads as the service does, without Kafka: one or more stages built in the test, or the whole chain
/// of a configuration.
///
///     let test = StageTest(LotteryStage(tickets: ["anna": [[3, 14, 15]]]))
///     let result = await test.run(#"{"aps":{"alert":"?","mutable-content":1},"numbers":[3,14,15]}"#, recipient: "anna")
///     #expect(result.stages == ["lottery": .ok])
///     #expect(result.body == "3 of 3: you have won!")
///
/// Messages run one after another, as those of one recipient do; badge counts carry over from one to the next. Nothing
/// is fetched for attachments. The clock stands still until `advance` or `expire` moves it: no test waits for time.
public final class StageTest: Sendable {
    private let candidate: Candidate
    private let deadline: Duration
    private let clock: ManualTime
    private let badges: [String: Int32]
    private let log: TestLog
    private let rehearsal: Rehearsal
    /// The rehearsal of the message that is running, if one is.
    private let running = Mutex<Rehearsal?>(nil)
    private let messages = Atomic<Int64>(0)
    /// Holds the configuration's files if this test created them.
    private let folder: ScratchFolder?

    /// A chain of these stages. `badges` are recipients' initial counts; others start at 0.
    public convenience init(
        _ stages: any Stage..., budget: Duration? = nil, deadline: Duration = .seconds(30),
        badges: [String: Int32] = [:]
    ) {
        let (clock, log) = (ManualTime(), TestLog())
        var settings = Chain.Settings()
        settings.deadline = deadline
        let links = stages.map { ChainLink($0, budget: budget) }
        let chain = Chain(links, settings: settings, time: .manual(clock), log: log.add)
        let candidate = Candidate(chain: chain, outputTopic: "", deadLetterTopic: "", counts: nil)
        self.init(candidate, deadline, clock, badges, log, nil)
    }

    init(
        _ candidate: Candidate, _ deadline: Duration, _ clock: ManualTime, _ badges: [String: Int32], _ log: TestLog,
        _ folder: ScratchFolder?
    ) {
        self.candidate = candidate
        self.deadline = deadline
        self.clock = clock
        self.badges = badges
        self.log = log
        self.folder = folder
        rehearsal = Self.rehearsal(candidate, badges)
    }

    private static func rehearsal(_ candidate: Candidate, _ badges: [String: Int32]) -> Rehearsal {
        Rehearsal(
            candidate.chain,
            counts: BadgeCounts { record in
                record.recipient.flatMap { badges.value(named: $0) }
            })
    }

    /// Takes a message through the chain. `recipient` is the record's key, and thus the recipient if there is no header
    /// of that name. `timestamp`, in milliseconds since 1970, is the time of day for stages and `apns-expiration`.
    public func run(
        _ payload: String, headers: [String: String] = [:], recipient: String? = nil,
        timestamp: Int64 = StageTest.timestamp
    ) async -> Result {
        await run(record(payload.utf8, headers, recipient, timestamp), on: rehearsal)
    }

    /// Takes a message through the chain and lets its deadline expire once `moment`, which runs concurrently, has
    /// returned: the running stage is canceled, and it and those after it get their `timeWillExpire`. An error that
    /// `moment` throws is in the result's log. Without a moment the deadline expires before the message's turn: every
    /// stage gets only its `timeWillExpire`.
    public func expire(
        _ payload: String, headers: [String: String] = [:], recipient: String? = nil,
        timestamp: Int64 = StageTest.timestamp, once moment: (@Sendable () async throws -> Void)? = nil
    ) async -> Result {
        let record = record(payload.utf8, headers, recipient, timestamp)
        let taken = clock.now
        guard let moment else {
            await advance(by: deadline)
            return await run(record, on: rehearsal, taken: taken)
        }
        let expiry = Task {
            do {
                try await moment()
            } catch {
                if !Task.isCancelled { log.tell("error: once: \(error)") }
            }
            // Once the message is over, the clock belongs to the next one.
            if !Task.isCancelled { await advance(by: deadline) }
        }
        defer { expiry.cancel() }
        return await run(record, on: rehearsal, taken: taken)
    }

    /// Lets time pass, for example for a stage whose budget ends while another task runs a message.
    public func advance(by duration: Duration) async {
        clock.advance(by: duration)
        await running.withLock { $0 }?.wake()
    }

    /// 14 November 2023, 22:13:20 UTC.
    public static let timestamp: Int64 = 1_700_000_000_000

    // MARK: - Messages

    func record(
        _ payload: some Sequence<UInt8>, _ headers: [String: String], _ recipient: String?, _ timestamp: Int64
    ) -> RecordEnvelope {
        var record = RecordEnvelope()
        record.topic = "test"
        record.offset = messages.wrappingAdd(1, ordering: .relaxed).oldValue
        record.timestamp = timestamp
        record.key = recipient.map { Array($0.utf8) }
        record.payload = Array(payload)
        record.headers = headers.sorted { $0.key < $1.key }.map { name, value in
            RecordEnvelope.Header(name: Array(name.utf8), value: Array(value.utf8))
        }
        return record
    }

    /// With counts of its own, independent of other messages.
    func runAlone(_ record: RecordEnvelope) async -> Result {
        await run(record, on: Self.rehearsal(candidate, badges))
    }

    private func run(_ record: RecordEnvelope, on rehearsal: Rehearsal, taken: Instant? = nil) async -> Result {
        let earlier = running.withLock { exchange(&$0, with: rehearsal) }
        precondition(earlier == nil, "a StageTest runs one message at a time")
        defer { running.withLock { $0 = nil } }
        let ended = await rehearsal.run(record, wallClock: record.timestamp, taken: taken)
        let names = candidate.chain.links.map(\.stage.name)
        return Result(ended, names, candidate.output(of: ended), log.take(of: record.place))
    }
}

extension StageTest {
    /// How a message ended.
    public struct Result: Sendable {
        public let outcome: Outcome
        /// Why the message is a dead letter; nil if it is not one.
        public let reason: DeadLetterReason?
        /// How each stage ended, by name.
        public let stages: [String: StageResult]
        /// Outcome and stages in a line, as `pushmill apply` prints them: `modified: lottery=ok`.
        public let summary: String
        /// The published payload as text; nil if nothing is published.
        public let payload: String?
        /// The headers that are published; if a name repeats, the last one.
        public let headers: [String: String]
        /// What stages logged about this message: `warning: lottery: no such ticket`.
        public let log: [String]

        init(_ ended: Rehearsal.Result, _ names: [String], _ output: RecordEnvelope?, _ log: [String]) {
            outcome = ended.verdict.outcome
            reason = ended.verdict.reason
            stages = Dictionary(zip(names, ended.stages)) { $1 }
            summary = ended.summary
            payload = output?.payload.map { String(decoding: $0, as: UTF8.self) }
            let headers = (output?.headers ?? []).map { header in
                (String(decoding: header.name, as: UTF8.self), String(decoding: header.value ?? [], as: UTF8.self))
            }
            self.headers = Dictionary(headers) { $1 }
            self.log = log
        }

        /// The published payload as a notification; nil if it is not one.
        public var content: NotificationContent? { payload.flatMap { try? NotificationContent($0) } }

        public var title: String? { content?.title }
        public var subtitle: String? { content?.subtitle }
        public var body: String? { content?.body }
        public var badge: Int? { content?.badge }
    }
}

/// What stages log about messages.
final class TestLog: Sendable {
    private let lines = Mutex<[(text: String, source: String?)]>([])

    func add(_ severity: StageResources.Severity, _ stage: String, _ source: Source, _ message: String) {
        tell("\(severity): \(stage): \(message)", of: "\(source)")
    }

    func tell(_ line: String, of source: String? = nil) { lines.withLock { $0.append((line, source)) } }

    /// Drops what an abandoned stage logged about an earlier message.
    func take(of source: String) -> [String] {
        let all = lines.withLock { exchange(&$0, with: []) }
        return all.filter { $0.source ?? source == source }.map { $0.text }
    }
}
