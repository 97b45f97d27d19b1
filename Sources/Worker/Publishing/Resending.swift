import Kafka
import Push
import Telemetry

/// The ways in which an output that was not stored goes on. For one thread.
struct Resending {
    /// Milliseconds for one poll.
    private static let patience: Int32 = 1000
    /// Polls for a record that is to be read again: brokers may be away for a while.
    private static let attempts = 60

    private let outputs: Outputs
    private let flow: Flow
    private let chain: Chain
    private let settings: WorkerSettings
    private let log: Log
    private let onKafkaLog: KafkaLogSink
    private let onRoom: @Sendable () -> Void
    /// Made when first needed, and kept for the next refusals: they come by the batch.
    private var loneProducer: Producer?
    private var reader: PartitionReader?
    /// Publishes the dead letters, and holds what is not taken for now.
    private let publisher: Publisher
    /// Came back, and holds up the others.
    private var returnedCount = 0

    init(
        outputs: Outputs, flow: Flow, chain: Chain, settings: WorkerSettings, metrics: MetricsShard,
        log: Log, onKafkaLog: @escaping KafkaLogSink, onRoom: @escaping @Sendable () -> Void
    ) {
        self.outputs = outputs
        self.flow = flow
        self.chain = chain
        self.settings = settings
        self.log = log
        self.onKafkaLog = onKafkaLog
        self.onRoom = onRoom
        publisher = Publisher(
            outputs: outputs, flow: flow, chain: chain, metrics: metrics, log: log, isResending: true)
    }

    /// Lets go of what was kept for more refusals.
    mutating func rest() {
        loneProducer = nil
        reader = nil
    }

    /// Something is held.
    var isWaiting: Bool { !publisher.held.isEmpty }

    /// Publishes what is held, as far as it is taken. The others go on when all that came back is on its way.
    mutating func tryAgain() {
        publisher.publishHeld()
        _ = publisher.settle()
        guard returnedCount > 0, !publisher.held.hasOrdered else { return }
        outputs.resent(returnedCount)
        returnedCount = 0
    }

    /// One more came back: the others wait until it, and all that came with it, is on its way.
    mutating func holdOthers() { returnedCount += 1 }

    /// The same output by the same way, when `tryAgain` is called.
    func again(_ refusal: Refusal) {
        guard let origin = flow.origin(of: refusal.tag.ticket) else { return publisher.abandon(refusal.tag.ticket) }
        let destination = refusal.tag.reason == nil ? outputs.output : outputs.deadLetters
        publisher.hold(
            HeldOutput(refusal.returned, to: destination, timestamp: refusal.timestamp, refusal.tag, origin))
    }

    /// The same output in a batch of its own, waiting for the brokers' word: nil when they have stored it.
    mutating func alone(_ refusal: Refusal) -> KafkaError? {
        do throws(KafkaError) {
            let producer = try producerOfSingles()
            let name = refusal.tag.reason == nil ? settings.output : settings.deadLetters
            let topic = try producer.topic(name)
            while true {
                if let error = publish(refusal, to: topic, by: producer) { return error }
                guard let error = report(from: producer) else {
                    if flow.complete(CollectionOfOne(refusal.tag.ticket)) { onRoom() }
                    return nil
                }
                guard error.isTimeOut else { return error }
            }
        } catch {
            return error
        }
    }

    private mutating func producerOfSingles() throws(KafkaError) -> Producer {
        if let loneProducer { return loneProducer }
        var properties = settings.producer
        properties["batch.num.messages"] = "1"
        properties["linger.ms"] = "0"
        let producer = try Producer(properties, log: onKafkaLog)
        loneProducer = producer
        return producer
    }

    private func report(from producer: Producer) -> KafkaError? {
        var reports: [DeliveryReport] = []
        while reports.isEmpty { producer.poll(milliseconds: Self.patience, into: &reports) }
        return reports[0].error
    }

    private func publish(_ refusal: Refusal, to topic: ProducerTopic, by producer: Producer) -> KafkaError? {
        var headers = refusal.returned.headers
        let result = refusal.returned.key.withBytes { key in
            refusal.returned.value.withBytes { value in
                producer.publish(
                    to: topic, key: key, value: value, headers: &headers, timestamp: refusal.timestamp,
                    opaque: refusal.tag.rawValue)
            }
        }
        switch result {
        case .queued: return nil
        case .full: return KafkaError("the producer's queue is full")
        case .refused(let error): return error
        }
    }

    /// The record as it came goes to the dead letters; when these too refuse it, what is left is where it was.
    mutating func deadLetter(_ refusal: Refusal, _ error: KafkaError) {
        guard let (origin, slot) = flow.origin(of: refusal.tag.ticket) else {
            return publisher.abandon(refusal.tag.ticket)
        }
        log.error(
            "the brokers have refused an output for good: it becomes a dead letter",
            [.source("\(origin.partition)/\(origin.offset)"), .error(error)])
        let original = refusal.tag.reason == nil ? fetch(origin) : nil
        defer { original?.destroy() }
        let delivery = Delivery(at: origin, timestamp: refusal.timestamp)
        original?.fill(delivery.record, topic: delivery.record.source.topic)
        let verdict = chain.deadLetter(delivery, .publishFailed, message: error.name, counted: true)
        publisher.publish(verdict, delivery, headers: original?.detachHeaders() ?? Headers(), refusal.tag.ticket, slot)
    }

    private mutating func fetch(_ origin: Position) -> Record? {
        do throws(KafkaError) {
            let reader = try readerOfSingles()
            if let record = try reader.fetch(origin, attempts: Self.attempts, milliseconds: Self.patience) {
                return record
            }
            log.warning("the log no longer holds the record of a refused output", [.source("\(origin.partition)")])
        } catch {
            log.warning("the record of a refused output could not be read again", [.error(error)])
        }
        return nil
    }

    /// It outlives what it has read: a client does not go while one of its records is out.
    private mutating func readerOfSingles() throws(KafkaError) -> PartitionReader {
        if let reader { return reader }
        let made = try PartitionReader(settings.consumer, log: onKafkaLog)
        reader = made
        return made
    }
}
