package import Kafka

/// What a worker is to do, and within which bounds.
package struct WorkerSettings: Sendable {
    package var consumer: ClientProperties
    package var producer: ClientProperties
    package var input: [String]
    package var output: String
    package var deadLetters: String
    package var ordering = Ordering.key
    package var maxInFlight = 10_000
    package var maxInFlightBytes = 64 << 20
    package var checkpointInterval = Duration.milliseconds(200)
    package var drain = Duration.seconds(5)
    package var shutdownGrace = Duration.seconds(25)
    package var lanes = 1

    /// Outputs and commits belong to transactions.
    package var isTransactional: Bool { producer["transactional.id"] != nil }

    package init(
        consumer: ClientProperties, producer: ClientProperties, input: [String], output: String, deadLetters: String
    ) {
        self.consumer = consumer
        self.producer = producer
        self.input = input
        self.output = output
        self.deadLetters = deadLetters
    }
}
