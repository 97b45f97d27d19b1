package import Kafka
package import Stores
package import Telemetry

/// The group's commit alone is the checkpoint: nothing is counted, or counts are part of its transaction.
package struct GroupCheckpoint: Checkpoint {
    package let counts: CountKeeper?
    private let log: Log

    package init(counts: CountKeeper? = nil, log: Log) {
        self.counts = counts
        self.log = log
    }

    package func restore(
        _ committed: [Position], unsaved: (TopicPartition) -> PartitionPosition?,
        end: (TopicPartition) throws -> Int64
    ) -> [PartitionStart] {
        committed.map { position in
            switch CommittedPosition(position) {
            case .nothing: return .reset(position.partition)
            case .ours(let start): return start
            case .foreign(let start, let rejection):
                log.warning(
                    "the committed offset was not set by pushmill and is obeyed",
                    [
                        .topic(start.place.topic), .partition(start.place.partition), .offset(start.offset),
                        .reason(rejection.explanation),
                    ])
                return start
            }
        }
    }

    package func save(_ batch: borrowing CheckpointBatch) -> UInt32 { 0 }
}
