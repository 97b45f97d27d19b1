import Glibc
import Kafka
import Stores

/// What transactions change of badge counts, as records of the changelog.
struct ChangelogRecords: Sendable {
    private let changelog: Changelog
    private let topic: ProducerTopic
    private let transactions: OutputTransactions

    init(_ changelog: Changelog, _ topic: ProducerTopic, _ transactions: OutputTransactions) {
        self.changelog = changelog
        self.topic = topic
        self.transactions = transactions
    }

    /// Makes them part of the transaction, once nothing else comes into it any more. The time is in milliseconds since
    /// 1970.
    func publish(_ changes: CountChanges, at timestamp: Int64, by producer: Producer) throws(KafkaError) {
        transactions.forgetPlaces()
        try changes.forEachRecord { (partition, key, value) throws(KafkaError) in
            var headers = Headers()
            while true {
                switch producer.publish(
                    to: topic, partition: partition, key: key, value: value, headers: &headers, timestamp: timestamp,
                    opaque: DeliveryTag(changelogPartition: partition).rawValue)
                {
                case .queued: return transactions.published()
                case .refused(let error): throw error
                case .full: usleep(1000)
                }
            }
        }
    }

    /// The transaction with what was published at that time was committed, and every report is there. Gives the number of
    /// the checkpoint.
    func committed(_ changes: CountChanges, publishedAt timestamp: Int64) -> UInt32 {
        let last = transactions.places.map {
            RecordPosition(partition: $0.key, offset: $0.value, timestamp: timestamp)
        }
        return changelog.committed(changes, last: last)
    }
}
