import Glibc
import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillTelemetry
import Synchronization

/// Makes dead letters of messages whose outputs were refused and which are gone: reads them from their log again, on a
/// thread of its own that lives while there is something to read.
final class LetterReader: Sendable {
    private struct Question: Sendable {
        let source: Position
        let timestamp: Int64
        let tag: UInt64
        let reason: String
        let isNameOnly: Bool
    }

    private struct State {
        var questions: [Question] = []
        var isRunning = false
    }

    /// Polls for a record: brokers may be away for a while.
    private static let attempts = 60
    /// Milliseconds for one.
    private static let patience: Int32 = 1000

    private let settings: EngineSettings
    private let environment: EngineEnvironment
    private let inbox: ShardInbox
    private let state = Mutex(State())

    init(_ settings: EngineSettings, _ environment: EngineEnvironment, _ inbox: ShardInbox) {
        self.settings = settings
        self.environment = environment
        self.inbox = inbox
    }

    /// Answered in the inbox.
    func ask(_ source: Position, timestamp: Int64, tag: UInt64, reason: String, isNameOnly: Bool) {
        let question = Question(
            source: source, timestamp: timestamp, tag: tag, reason: reason, isNameOnly: isNameOnly)
        let isFirst = state.withLock { state in
            state.questions.append(question)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isFirst else { return }
        do throws(TelemetryError) {
            try Thread(named: "letters \(inbox.shard)") { self.run() }.detach()
        } catch {
            environment.log.error("no thread for dead letters: they only name their messages", [.error(error)])
            answerAll(by: nil)
        }
    }

    private func run() {
        var reader = try? PartitionReader(settings.reader, log: environment.kafkaLog)
        // Files with secrets may just be replaced.
        for _ in 0..<Self.attempts where reader == nil && !inbox.isEnding {
            usleep(1_000_000)
            reader = try? PartitionReader(settings.reader, log: environment.kafkaLog)
        }
        answerAll(by: reader)
    }

    private func answerAll(by reader: PartitionReader?) {
        while let question = next() { answer(question, by: reader) }
    }

    private func next() -> Question? {
        state.withLock { state in
            guard !state.questions.isEmpty else {
                state.isRunning = false
                return nil
            }
            return state.questions.removeFirst()
        }
    }

    private func answer(_ question: Question, by reader: PartitionReader?) {
        let (source, timestamp) = (question.source, question.timestamp)
        let delivery = Delivery()
        let place = Source(
            topic: SourceTopic(source.partition.topic), partition: source.partition.partition, offset: source.offset)
        let record = question.isNameOnly ? nil : reader.flatMap { fetch(source, of: timestamp, by: $0) }
        if let record {
            record.fill(delivery.record, topic: place.topic)
        } else {
            delivery.record.source = place
            delivery.record.timestamp = timestamp
        }
        _ = environment.chain.deadLetter(delivery, .publishFailed, message: question.reason, counted: true)
        var headers = record?.detachHeaders() ?? Headers()
        headers.change(by: delivery.output)
        let letter = OwnedRecord(delivery, headers: headers, timestamp: timestamp)
        record?.destroy()
        let facts = OutputFacts(.deadLetter, .publishFailed, timestamp: timestamp)
        inbox.postLetter(HeldOutput(isLetter: true, record: letter, facts: facts), tag: question.tag)
    }

    private func fetch(_ source: Position, of timestamp: Int64, by reader: PartitionReader) -> Record? {
        do throws(KafkaError) {
            // In a topic made anew another record has its offset.
            if let record = try reader.fetch(source, attempts: Self.attempts, milliseconds: Self.patience) {
                if record.timestamp == timestamp { return record }
                record.destroy()
            }
            environment.log.warning(
                "the log no longer holds the record of a refused output",
                [.source("\(source.partition)/\(source.offset)")])
        } catch {
            environment.log.warning("the record of a refused output could not be read again", [.error(error)])
        }
        return nil
    }
}
