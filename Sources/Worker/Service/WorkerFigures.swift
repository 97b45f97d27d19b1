import Engine
package import Kafka

/// What is known of a worker when someone asks: none of it is counted message by message.
package struct WorkerFigures: Sendable {
    private let consumer: Consumer
    private let producer: Producer
    private let flow: Flow

    init(consumer: Consumer, producer: Producer, flow: Flow) {
        self.consumer = consumer
        self.producer = producer
        self.flow = flow
    }

    package var inFlight: (messages: Int, bytes: Int) {
        let inFlight = flow.inFlight
        return (inFlight.count, inFlight.bytes)
    }

    /// What was measured last; nil before the first time, and where it is switched off.
    package var consumed: ClientStatistics? { consumer.statistics }
    package var produced: ClientStatistics? { producer.statistics }

    /// For each partition that is served, as far as its end is known: the records that are not done.
    package var lags: [(place: TopicPartition, records: Int64)] {
        let measured = (consumed?.partitions ?? []).filter { $0.end >= 0 }
        let byPlace = Dictionary(measured.map { ($0.place, $0) }) { first, _ in first }
        let ledgers = flow.withState { state in
            state.partitions.compactMap { partition in
                partition.map { (place: $0.place, position: $0.ledger.position, isIdle: $0.ledger.inFlight == 0) }
            }
        }
        return ledgers.compactMap { ledger in
            guard let partition = byPlace[ledger.place] else { return nil }
            // All that was fetched is done: so is what lies before the next fetch and is no record of ours.
            let isDone = ledger.isIdle && partition.fetched == 0
            let position = isDone ? max(ledger.position, partition.nextOffset) : ledger.position
            return (ledger.place, max(0, partition.end - position))
        }.sorted { ($0.place.topic, $0.place.partition) < ($1.place.topic, $1.place.partition) }
    }
}
