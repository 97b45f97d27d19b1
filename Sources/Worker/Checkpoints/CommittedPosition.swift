import Engine
import Kafka

/// What a group's commit says.
enum CommittedPosition {
    case nothing
    case ours(PartitionStart)
    /// An operator's, or another program's: it is obeyed.
    case foreign(PartitionStart, OffsetMetadata.Rejection)

    init(_ position: Position) {
        let place = position.partition
        guard position.offset >= 0 else {
            self = .nothing
            return
        }
        do throws(OffsetMetadata.Rejection) {
            let metadata = try OffsetMetadata(decoding: position.metadata, committedAt: position.offset)
            self = .ours(PartitionStart(place, offset: position.offset, completed: metadata.completed))
        } catch {
            self = .foreign(PartitionStart(place, offset: position.offset), error)
        }
    }
}

extension PartitionStart {
    /// Where nobody has been: `auto.offset.reset` decides.
    static func reset(_ place: TopicPartition) -> PartitionStart { PartitionStart(place, offset: Position.stored) }
}

extension OffsetMetadata.Rejection {
    var explanation: String {
        switch self {
        case .foreign: "its metadata is not ours"
        case .version(let version): "its metadata is of version \(version), which is not known here"
        case .corrupt: "its metadata is damaged"
        case .otherBase(let base): "its metadata was written for offset \(base)"
        }
    }
}
