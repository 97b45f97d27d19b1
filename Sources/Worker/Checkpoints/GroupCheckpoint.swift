package import Kafka
package import Telemetry

/// The group's commit alone is the checkpoint.
package struct GroupCheckpoint: Checkpoint {
    private let log: Log

    package init(log: Log) { self.log = log }

    package func restore(_ committed: [PartitionResult]) -> [PartitionStart] {
        committed.map { start(of: $0.position) }
    }

    package func write(_ positions: [Position]) {}

    private func start(of position: Position) -> PartitionStart {
        let place = position.partition
        guard position.offset >= 0 else { return PartitionStart(place, offset: Position.stored) }
        do throws(OffsetMetadata.Rejection) {
            let metadata = try OffsetMetadata(decoding: position.metadata, committedAt: position.offset)
            return PartitionStart(place, offset: position.offset, completed: metadata.completed)
        } catch {
            log.warning(
                "the committed offset was not set by pushmill and is obeyed",
                [
                    .topic(place.topic), .partition(place.partition), .offset(position.offset),
                    .reason(error.explanation),
                ])
            return PartitionStart(place, offset: position.offset)
        }
    }
}

extension OffsetMetadata.Rejection {
    package var explanation: String {
        switch self {
        case .foreign: "its metadata is not ours"
        case .version(let version): "its metadata is of version \(version), which is not known here"
        case .corrupt: "its metadata is damaged"
        case .otherBase(let base): "its metadata was written for offset \(base)"
        }
    }
}
