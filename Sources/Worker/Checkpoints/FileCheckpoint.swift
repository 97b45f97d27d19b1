package import Kafka
package import Stores
import Synchronization
package import Telemetry

/// A SQLite file with counts and positions, one instance's own, written before the group's commit.
package final class FileCheckpoint: Checkpoint {
    package let counts: CountKeeper?
    private let file: Mutex<CheckpointFile>
    /// Partitions have been served by this process: what the file says is about these very logs.
    private let hasServed = Atomic<Bool>(false)
    private let stalePartitions: Counter
    private let log: Log

    /// Takes the state file, which must be this process's alone. Where it was another cluster's or group's its counts are
    /// set aside.
    package init(
        _ state: StateFile, owner: CheckpointFile.Owner, stalePartitions: Counter, log: Log
    ) throws(StoreError) {
        var file = try CheckpointFile(state)
        if let copy = try file.claim(for: owner) {
            log.error(
                "the state file was another cluster's or group's: its counts are set aside, all begin at 0",
                [.path(copy)])
        }
        counts = CountKeeper(state, progress: file.progress, log: log)
        self.file = Mutex(file)
        self.stalePartitions = stalePartitions
        self.log = log
    }

    package func save(_ batch: borrowing CheckpointBatch) throws -> UInt32 {
        try file.withLock { file throws(StoreError) in try file.save(batch) }
    }

    package func restore(
        _ committed: [Position], unsaved: (TopicPartition) -> PartitionPosition?,
        end: (TopicPartition) throws -> Int64
    ) throws -> [PartitionStart] {
        let starts = try committed.map { committed in
            let place = committed.partition
            let stored = try unsaved(place) ?? position(of: place)
            let file = stored.flatMap { start(of: place, $0) }
            let end = file == nil ? .max : try end(place)
            return try decide(file, CommittedPosition(committed), end: end, place)
        }
        // The first assignment may be of nothing.
        if !starts.isEmpty { hasServed.store(true, ordering: .relaxed) }
        return starts
    }

    private func position(of place: TopicPartition) throws(StoreError) -> PartitionPosition? {
        try file.withLock { file throws(StoreError) in try file.position(of: place.topic, place.partition) }
    }

    private func start(of place: TopicPartition, _ stored: PartitionPosition) -> PartitionStart? {
        switch CommittedPosition(Position(place, offset: stored.next, metadata: stored.metadata)) {
        case .nothing: return nil
        case .ours(let start): return start
        case .foreign(let start, let rejection):
            log.error(
                "the state file does not tell what is done beyond its offset: some events may count again",
                [.topic(place.topic), .partition(place.partition), .reason(rejection.explanation)])
            return start
        }
    }

    private func decide(
        _ file: PartitionStart?, _ group: CommittedPosition, end: Int64, _ place: TopicPartition
    ) throws(StoreError) -> PartitionStart {
        switch StartPosition(file: file?.mark, group: group.committed, end: end) {
        case .file: return file ?? .reset(place)
        case .reset: return .reset(place)
        case .group(let warning):
            if let warning { say(warning, of: place) }
            return group.start ?? .reset(place)
        case .fileIsForeign:
            try setAside(because: place)
            return group.start ?? .reset(place)
        }
    }

    /// The log ends before what the file says was done. If that was done by this process, the topic was made anew or cut
    /// meanwhile, and counts stay; otherwise the file is about another log.
    private func setAside(because place: TopicPartition) throws(StoreError) {
        guard !hasServed.load(ordering: .relaxed) else {
            return log.warning(
                "a partition ends before what was done of it: the topic was made anew or cut",
                [.topic(place.topic), .partition(place.partition)])
        }
        let copy = try file.withLock { file throws(StoreError) in try file.setAside() }
        log.error(
            "the state file is ahead of a partition's end, so it belongs to another log: its counts are set aside",
            [.topic(place.topic), .partition(place.partition), .path(copy)])
    }

    private func say(_ warning: StartPosition.Warning, of place: TopicPartition) {
        if warning != .movedByOperator { stalePartitions.add() }
        log.warning(warning.sentence, [.topic(place.topic), .partition(place.partition)])
    }
}

extension PartitionStart {
    fileprivate var mark: StartPosition.Mark {
        StartPosition.Mark(next: offset, doneBeyond: completed.reduce(0) { $0 + $1.count })
    }
}

extension CommittedPosition {
    fileprivate var committed: StartPosition.Committed {
        switch self {
        case .nothing: .nothing
        case .ours(let start): .byUs(start.mark)
        case .foreign: .byOthers
        }
    }

    fileprivate var start: PartitionStart? {
        switch self {
        case .nothing: nil
        case .ours(let start), .foreign(let start, _): start
        }
    }
}

extension StartPosition.Warning {
    fileprivate var sentence: StaticString {
        switch self {
        case .movedByOperator:
            "the committed offset was not set by pushmill and is obeyed: events that repeat count again"
        case .countsMayBeStale:
            "another instance has served this partition: its counts may be stale here; exactly-once would bring them"
        case .countsAreMissing:
            "this partition was served before and its counts are not here; exactly-once would bring them"
        }
    }
}
