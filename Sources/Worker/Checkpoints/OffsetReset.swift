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

    /// Told to librdkafka. Not `stored`, where there is a choice: it would ask the group again and begin later, and a pause
    /// or a resume in the midst of that makes it drop the beginning, so that the partition is never read.
    var position: Int64 {
        switch self {
        case .earliest: Position.beginning
        case .latest: Position.end
        case .error: Position.stored
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
