import Kafka
import Push
import Stores

/// Counts that are restored from the changelog, between batches of messages.
extension Shard where Ports: ~Copyable {
    /// Records that are taken at once, so that messages do not wait for long.
    private static var restoringBatch: Int { 2000 }
    static var restoringPause: Duration { .milliseconds(2) }

    mutating func readChangelog() {
        guard !restore.isIdle || restore.isChanged else { return }
        for index in restore.takeTurns() {
            let last = partitions[index].counts?.beginRestore()
            restore.begin(index, number: partitions[index].place.partition, from: last)
        }
        if restore.isChanged {
            let starts = restore.takeStarts()
            ports.replicate(starts)
            if !starts.isEmpty { ports.tell(.restoring(starts.map(\.partition))) }
        }
        guard !restore.reading.isEmpty else { return }
        take()
        apply()
        end()
    }

    private mutating func take() {
        var taken = ReplicaBatch()
        swap(&taken.restore, &restore)
        ports.takeReplica(limit: Self.restoringBatch) { taken.take($0) }
        swap(&taken.restore, &restore)
        for (position, reason) in taken.refused { ports.tell(.changelogNotARecord(position, reason: reason)) }
        for (number, offset) in taken.heldUp { ports.tell(.changelogHeldUp(partition: number, offset: offset)) }
        for index in taken.anew { beginAnew(index) }
    }

    private mutating func beginAnew(_ index: Int) {
        let reading = restore.reading[index]
        ports.tell(.changelogAnew(partition: reading.number))
        if partitions[reading.partition].counts?.restart() == false { failDisk(of: reading.partition) }
        restore.beginAnew(index)
    }

    private mutating func apply() {
        for reading in restore.reading where !reading.rows.isEmpty {
            guard let last = reading.last else { continue }
            let index = reading.partition
            var stale: [Int] = []
            guard partitions[index].counts?.restore(reading.rows, at: last, stale: { stale.append($0) }) == true else {
                ports.tell(.diskFailed(partitions[index].place))
                restore.remove(index)
                partitions[index].counts = nil
                partitions[index].state = .asking(again: now)
                continue
            }
            // An owner that had lost the partition wrote behind its successor's back: the right one is written anew.
            for row in stale { rewrite(reading, row) }
        }
        restore.applied()
    }

    private mutating func rewrite(_ reading: ChangelogRestore.Reading, _ row: Int) {
        let (index, account) = (reading.partition, reading.rows[row].account)
        guard let cell = partitions[index].counts?.cell(of: account),
            let state = partitions[index].counts?.state(of: cell)
        else { return }
        restore.withKey(reading.keys[row]) { key in
            changes.add(partition: index, account, state, isRewrite: true, timestamp: ports.wallClock) {
                $0.append(contentsOf: key)
            }
        }
        isDirty = true
    }

    private mutating func end() {
        let whole = restore.reading.filter(\.isWhole)
        guard !whole.isEmpty else { return }
        for reading in whole {
            let index = reading.partition
            restore.remove(index)
            if partitions[index].counts?.endRestore() == true {
                partitions[index].changelogEnd = reading.last
                restored(index)
            } else {
                failDisk(of: index)
            }
        }
        ports.tell(.restored(whole.map(\.number), records: whole.reduce(0) { $0 + $1.count }))
    }
}

/// What one look at the changelog brings.
private struct ReplicaBatch {
    var restore = ChangelogRestore(secret: AccountSecret(0, 0))
    var refused: [(ChangelogPosition, String)] = []
    var heldUp: [(Int32, Int64)] = []
    var anew: [Int] = []

    mutating func take(_ event: ReplicaEvent) {
        switch event {
        case .record(let position, let key, let value):
            switch restore.take(position, key: key, value: value) {
            case .taken: break
            case .notARecord(let reason): refused.append((position, reason))
            case .anew(let index): begin(index)
            }
        case .end(let number, let offset, let isWhole):
            guard let index = restore.index(ofNumber: number) else { return }
            if let expected = restore.reading[index].expected, offset <= expected.offset { return begin(index) }
            restore.reading[index].isWhole = isWhole
            guard !isWhole, !restore.reading[index].isHeldUp else { return }
            restore.reading[index].isHeldUp = true
            heldUp.append((number, offset))
        case .outOfLog(let number):
            if let index = restore.index(ofNumber: number) { begin(index) }
        }
    }

    /// What is taken of it from here on says nothing.
    private mutating func begin(_ index: Int) {
        restore.reading[index].isAnew = true
        anew.append(index)
    }
}
