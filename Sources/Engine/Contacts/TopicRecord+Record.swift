import PushmillKafka
import PushmillStores

extension TopicRecord {
    /// Good as long as the record is.
    init(_ record: Record) {
        let position = RecordPosition(
            partition: record.partition, offset: record.offset, timestamp: record.timestamp)
        self.init(position, key: record.key, value: record.value)
    }
}
