import Glibc
import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillTelemetry
import Synchronization

/// Makes dead letters of messages that were let go before their outputs were refused: rereads them from their log, on
/// its own thread, which lives while there is something to read.
final class LetterReader: Sendable {
    private struct State {
        /// Each with the number of its failed tries.
        var requests: [(letter: LetterRequest, tries: Int)] = []
        var isRunning = false
        var answers: [(tag: UInt64, output: HeldOutput)] = []
    }

    /// How often a record is asked for that no broker returns, which takes an hour. Other letters are read in between.
    private static let tries = 360
    /// Milliseconds per poll.
    private static let patience: Int32 = 1000

    private let settings: EngineSettings
    private let environment: EngineEnvironment
    private let inbox: ShardInbox
    /// Polls per try.
    private let attempts: Int
    private let start: Start
    private let state = Mutex(State())
    /// The shard looks every turn, and locks only then.
    private let hasAnswers = Atomic<Bool>(false)

    typealias Start = @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) throws(TelemetryError) -> Void

    /// `start` creates the thread.
    init(
        _ settings: EngineSettings, _ environment: EngineEnvironment, _ inbox: ShardInbox, attempts: Int = 10,
        start: @escaping Start = { (name, body) throws(TelemetryError) in try Thread(named: name, body).detach() }
    ) {
        self.attempts = attempts
        self.start = start
        self.settings = settings
        self.environment = environment
        self.inbox = inbox
    }

    /// The shard is woken when the letter can be taken.
    func ask(for letter: LetterRequest) {
        let isFirst = state.withLock { state in
            state.requests.append((letter, 0))
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isFirst else { return }
        do throws(TelemetryError) {
            try start("letters \(inbox.shard)") { self.run() }
        } catch {
            environment.log.error(
                "cannot start a thread for dead letters: they only name their messages", [.error(error)])
            answerAll(by: nil)
        }
    }

    /// The letters since the last call, by the tags of their requests.
    func take() -> [(tag: UInt64, output: HeldOutput)] {
        guard hasAnswers.exchange(false, ordering: .acquiringAndReleasing) else { return [] }
        return state.withLock { exchange(&$0.answers, with: []) }
    }

    private func run() {
        var reader = try? PartitionReader(settings.reader, log: environment.kafkaLog)
        // Files with secrets may be in the middle of a replacement: try again.
        for _ in 0..<60 where reader == nil && !inbox.isEnding {
            usleep(1_000_000)
            reader = try? PartitionReader(settings.reader, log: environment.kafkaLog)
        }
        answerAll(by: reader)
    }

    private func answerAll(by reader: PartitionReader?) {
        while let (letter, tries) = next() {
            guard let reader, !letter.isNameOnly else {
                post(letter, of: nil)
                continue
            }
            do throws(KafkaError) {
                post(letter, of: try fetch(letter.source, of: letter.timestamp, by: reader))
            } catch {
                // The next owner repeats what is left.
                if inbox.isEnding { return }
                if tries < Self.tries {
                    usleep(100_000)
                    state.withLock { $0.requests.append((letter, tries + 1)) }
                } else {
                    environment.log.warning(
                        "cannot reread the record of a refused output", [.error(error)])
                    post(letter, of: nil)
                }
            }
        }
    }

    private func next() -> (letter: LetterRequest, tries: Int)? {
        state.withLock { state in
            guard !state.requests.isEmpty else {
                state.isRunning = false
                return nil
            }
            return state.requests.removeFirst()
        }
    }

    private func post(_ request: LetterRequest, of record: Record?) {
        let (position, timestamp) = (request.source, request.timestamp)
        let delivery = Delivery()
        let source = Source(
            topic: SourceTopic(position.partition.topic), partition: position.partition.partition,
            offset: position.offset)
        if let record {
            record.fill(delivery.record, topic: source.topic)
        } else {
            delivery.record.source = source
            delivery.record.timestamp = timestamp
        }
        let verdict = environment.chain.deadLetter(
            delivery, .publishFailed, message: request.reason, counted: request.isCounted)
        var headers = record?.detachHeaders() ?? Headers()
        headers.change(by: delivery.output)
        let letter =
            record == nil
            ? OwnedRecord(naming: source, headers: headers)
            : OwnedRecord(
                delivery, headers: headers, timestamp: LetterRequest.timestamp(timestamp, refused: request.reason))
        record?.destroy()
        let facts = OutputFacts(verdict: verdict, timestamp: letter.timestamp)
        state.withLock { $0.answers.append((request.tag, HeldOutput(record: letter, facts: facts))) }
        hasAnswers.store(true, ordering: .releasing)
        inbox.signal.wake()
    }

    /// nil if the log does not hold the record any more.
    private func fetch(
        _ source: Position, of timestamp: Int64, by reader: PartitionReader
    ) throws(KafkaError) -> Record? {
        do throws(KafkaError) {
            // In a recreated topic another record has this offset.
            if let record = try reader.fetch(source, attempts: attempts, milliseconds: Self.patience) {
                if record.timestamp == timestamp { return record }
                record.destroy()
            }
        } catch {
            guard let log = try? reader.range(of: source.partition, milliseconds: 5 * Self.patience),
                !log.contains(source.offset)
            else { throw error }
        }
        environment.log.warning(
            "the record of a refused output is no longer in the log",
            [.source("\(source.partition)/\(source.offset)")])
        return nil
    }
}
