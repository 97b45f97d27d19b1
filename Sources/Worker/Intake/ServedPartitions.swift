import Kafka
import Telemetry

/// The partitions that are being read, by name and by the numbers that records carry.
struct ServedPartitions {
    struct Served {
        let slot: PartitionSlot
        /// 1 while intake from it is paused.
        let paused: Gauge
    }

    private var byPlace: [TopicPartition: Served] = [:]
    private var byNumber: [[PartitionSlot?]] = []
    private let nameOf: (UInt32) -> String

    init(nameOf: @escaping (UInt32) -> String) { self.nameOf = nameOf }

    var places: [TopicPartition] { Array(byPlace.keys) }

    subscript(place: TopicPartition) -> Served? {
        get { byPlace[place] }
        set {
            byPlace[place] = newValue
            byNumber.removeAll()
        }
    }

    func place(of record: Record) -> TopicPartition { TopicPartition(nameOf(record.topic), record.partition) }

    mutating func slot(of record: Record) -> PartitionSlot? {
        let (topic, partition) = (Int(record.topic), Int(record.partition))
        if topic < byNumber.count, partition < byNumber[topic].count, let slot = byNumber[topic][partition] {
            return slot
        }
        guard partition >= 0, let slot = byPlace[place(of: record)]?.slot else { return nil }
        while byNumber.count <= topic { byNumber.append([]) }
        while byNumber[topic].count <= partition { byNumber[topic].append(nil) }
        byNumber[topic][partition] = slot
        return slot
    }
}
