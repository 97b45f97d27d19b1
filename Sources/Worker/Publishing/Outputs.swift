import Kafka
import Push
import Synchronization

/// The two topics that the worker writes to, for every thread that publishes.
final class Outputs: Sendable {
    let producer: Producer
    let output: ProducerTopic
    let deadLetters: ProducerTopic
    let times: RecordTimes
    /// Where outputs belong to transactions.
    let transactions: OutputTransactions?
    /// Published and not yet reported on.
    private let unacknowledged = Atomic<Int>(0)
    /// Publishers from which librdkafka itself takes nothing for now.
    private let refusedCount = Atomic<Int>(0)
    /// Not stored, through no fault of theirs, and not on their way again.
    private let returnedCount = Atomic<Int>(0)

    init(
        _ producer: Producer, output: String, deadLetters: String, limit: Int,
        transactions: OutputTransactions? = nil
    ) throws(KafkaError) {
        self.producer = producer
        self.transactions = transactions
        self.output = try producer.topic(output)
        self.deadLetters = try producer.topic(deadLetters)
        times = RecordTimes(limit: limit)
    }

    func published(_ count: Int) { unacknowledged.wrappingAdd(count, ordering: .relaxed) }

    func reported(_ count: Int) { unacknowledged.wrappingSubtract(count, ordering: .relaxed) }

    func refused() { refusedCount.wrappingAdd(1, ordering: .relaxed) }

    func takenAgain() { refusedCount.wrappingSubtract(1, ordering: .relaxed) }

    var areRefused: Bool { refusedCount.load(ordering: .relaxed) > 0 }

    func returned() { returnedCount.wrappingAdd(1, ordering: .relaxed) }

    func resent(_ count: Int) { returnedCount.wrappingSubtract(count, ordering: .relaxed) }

    /// What is published now would overtake what came back.
    var haveReturned: Bool { returnedCount.load(ordering: .relaxed) > 0 }

    var waiting: Int { unacknowledged.load(ordering: .relaxed) }
}
