import Kafka

/// `auto.offset.reset`: where a partition begins of which nothing is committed.
enum OffsetReset {
    case earliest, latest, error

    /// librdkafka's words; it has checked them.
    init(_ word: String?) {
        self =
            switch word {
            case "smallest", "earliest", "beginning": .earliest
            case "error": .error
            default: .latest
            }
    }

    func offset(between low: Int64, and high: Int64) throws(KafkaError) -> Int64 {
        switch self {
        case .earliest: low
        case .latest: high
        case .error: throw KafkaError("nothing is committed, and auto.offset.reset asks for an error then")
        }
    }
}
