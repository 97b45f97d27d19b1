import PushmillKafka
import PushmillStages
import PushmillStores

/// Counts that are restored from the changelog, between batches of messages.
extension Shard where Ports: ~Copyable {
    /// Records that are taken at once, so that messages do not wait for long.
    private static var restoringBatch: Int { 2000 }
    static var restoringPause: Duration { .milliseconds(50) }

    mutating func readChangelog() {
        guard !restore.isIdle || restore.isChanged else { return }
        for index in restore.takeTurns() {
            let last = partitions[index].counts?.beginRestore()
            let isWrong = PlantedFault.isPlanted(.countOfWrongPartition)
            let number = partitions[index].place.partition
            restore.begin(index, number: isWrong ? number ^ 1 : number, from: isWrong ? nil : last)
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
        var count = 0
        ports.takeReplica(limit: Self.restoringBatch) {
            count += 1
            taken.take($0)
        }
        swap(&taken.restore, &restore)
        // Nobody wakes the thread for what is left of a batch.
        restore.mayHaveMore = count > 0
        for (position, reason) in taken.refused { ports.tell(.changelogNotARecord(position, reason: reason)) }
        for (position, reason) in taken.newer { ports.tell(.changelogNewer(position, reason: reason)) }
        for (number, offset) in taken.heldUp { ports.tell(.changelogHeldUp(partition: number, offset: offset)) }
        for index in taken.anew { beginAnew(index) }
    }

    private mutating func beginAnew(_ index: Int) {
        let reading = restore.reading[index]
        ports.tell(.changelogAnew(partition: reading.number))
        partitions[reading.partition].changelogEnd = nil
        restore.beginAnew(index)
        if partitions[reading.partition].counts?.restart() == false { failDisk(of: reading.partition) }
    }

    private mutating func apply() {
        for reading in restore.reading where !reading.rows.isEmpty {
            guard let last = reading.last else { continue }
            let index = reading.partition
            var stale: [Int] = []
            guard partitions[index].counts?.restore(reading.rows, at: last, stale: { stale.append($0) }) == true else {
                failDisk(of: index)
                continue
            }
            for row in stale { restore.noteStale(row, of: index, timestamp: max(0, last.timestamp)) }
        }
        restore.applied()
    }

    /// An owner that had lost the partition wrote behind its successor's back: what is right is written anew. False when
    /// the disk failed.
    private mutating func rewrite(_ reading: ChangelogRestore.Reading) -> Bool {
        guard !reading.stale.isEmpty else { return true }
        let index = reading.partition
        let accounts = reading.stale.keys.sorted()
        for account in accounts { partitions[index].counts?.want(account) }
        guard partitions[index].counts?.load() == true else { return false }
        for account in accounts {
            guard let cell = partitions[index].counts?.cell(of: account),
                let state = partitions[index].counts?.state(of: cell), let stale = reading.stale[account]
            else { continue }
            changes.add(partition: index, account, state, isRewrite: true, timestamp: stale.timestamp) {
                $0.append(contentsOf: stale.key)
            }
        }
        isDirty = true
        return true
    }

    private mutating func end() {
        let whole = restore.reading.filter(\.isWhole)
        guard !whole.isEmpty else { return }
        if PlantedFault.isPlanted(.leaderlessHoldsUpAll), whole.count < restore.reading.count { return }
        for reading in whole {
            let index = reading.partition
            restore.remove(index)
            if nextWriting == .never { nextWriting = now + Self.writeBehindInterval }
            guard rewrite(reading) else {
                failDisk(of: index)
                continue
            }
            partitions[index].changelogEnd = reading.last
            restored(index)
        }
        ports.tell(.restored(whole.map(\.number), records: whole.reduce(0) { $0 + $1.count }))
    }
}

/// What one look at the changelog brings.
private struct ReplicaBatch {
    var restore = ChangelogRestore(secret: AccountSecret(0, 0))
    var refused: [(ChangelogPosition, String)] = []
    var newer: [(ChangelogPosition, String)] = []
    var heldUp: [(Int32, Int64)] = []
    var anew: [Int] = []

    mutating func take(_ event: ReplicaEvent) {
        switch event {
        case .record(let position, let key, let value):
            if PlantedFault.isPlanted(.countRestoredBeforeEnd), restore.endEarly(position) { return }
            switch restore.take(position, key: key, value: value) {
            case .taken: break
            case .notARecord(let reason): refused.append((position, reason))
            case .newer(let reason): newer.append((position, reason))
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
