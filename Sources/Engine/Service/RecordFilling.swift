import Glibc
import PushmillKafka
import PushmillStages

extension Record {
    /// Lends the record's bytes to an input record.
    func fill(_ input: InputRecord, topic: SourceTopic) {
        let headers = headers
        input.fill(
            Source(topic: topic, partition: partition, offset: offset), timestamp: timestamp, key: key, value: value,
            headers: headers?.count ?? 0
        ) { index in
            headers?.entry(index).map { RecordHeader(name: $0.name, value: $0.value) }
        }
    }
}

enum SystemTime {
    /// Milliseconds since 1970.
    static var milliseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
