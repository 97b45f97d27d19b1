import PushmillKafka
import PushmillStages
import PushmillStores

/// Restores counts from the changelog, between batches of messages.
extension Shard where Ports: ~Copyable {
    /// How many records are taken at once: few enough that messages do not wait long.
    private static var restoringBatch: Int { 2000 }
    static var restoringPause: Duration { .milliseconds(50) }

    mutating func readChangelog() {
        guard !restore.isIdle || restore.isChanged else { return }
        for index in restore.takeTurns() {
            guard let secret = partitions[index].counts?.value.secret else { continue }
            let last = partitions[index].counts?.value.beginRestore()
            let isWrong = PlantedFault.isPlanted(.countOfWrongPartition)
            let number = partitions[index].id.partition
            // All of a log that has lost records: the states that it lacks are written again.
            let isWhole = isWrong || partitions[index].changelog.isCut
            restore.begin(index, number: isWrong ? number ^ 1 : number, secret, from: isWhole ? nil : last)
        }
        if restore.isChanged {
            let starts = restore.takeStarts()
            ports.replicate(starts)
            if !starts.isEmpty { ports.tell(.restoring(starts.map(\.partition))) }
        }
        guard !restore.reading.isEmpty else { return }
        takeReplica()
        applyRows()
        endRestores()
    }

    private mutating func takeReplica() {
        var news: [ShardNews] = []
        // Nothing wakes the thread for the rest of a batch.
        restore.mayHaveMore = false
        ports.takeReplica(limit: Self.restoringBatch) { event in
            restore.mayHaveMore = true
            if let told = restore.take(event) { news.append(told) }
        }
        for told in news { ports.tell(told) }
        for index in restore.anew { partitions[index].changelog.cut() }
        for index in restore.takeForgotten() where partitions[index].counts?.value.areOwn == false {
            if partitions[index].counts?.value.restart() == false { failDisk(of: index) }
        }
    }

    private mutating func applyRows() {
        for reading in restore.reading where !reading.rows.isEmpty {
            guard let last = reading.last else { continue }
            let index = reading.partition
            let isRestored = partitions[index].counts?.value.restore(reading.rows, at: last) { row in
                restore.key(of: row, in: reading)
            }
            if isRestored != true { failDisk(of: index) }
        }
        restore.applied()
    }

    /// An owner that had lost the partition wrote to the changelog after its successor: the right state is written
    /// again, unless the changelog has that further on, as when it is read again from before the disk's position. False
    /// if the disk failed.
    private mutating func rewrite(_ index: Int32) -> Bool {
        let stale = (partitions[index].counts?.value.stale ?? [:]).sorted { $0.key < $1.key }
        for (account, _) in stale { partitions[index].counts?.value.want(account) }
        guard stale.isEmpty || partitions[index].counts?.value.load() == true else { return false }
        for (account, record) in stale {
            guard let state = partitions[index].counts?.value.state(of: account) else { continue }
            add(index, state, .rewrite, timestamp: record.timestamp, key: record.key)
        }
        return true
    }

    /// Once everything taken from the partition is done, restores it again: wrong records behind right ones are
    /// corrected, because brokers would compact the log to the wrong ones.
    mutating func rereadChangelog(of index: Int32) {
        // What a transaction holds is not in the log before it is committed, and may be aborted.
        guard partitions[index].isDrained, !partitions[index].isInTransaction, !restore.contains(index) else { return }
        partitions[index].state = .restoring
        restore.add(index)
    }

    private mutating func endRestores() {
        let whole = restore.reading.filter(\.isWhole)
        guard !whole.isEmpty else { return }
        if PlantedFault.isPlanted(.leaderlessHoldsUpAll), whole.count < restore.reading.count { return }
        for reading in whole {
            let index = reading.partition
            restore.remove(index)
            if writeBehindDue == .never { writeBehindDue = now + settings.writeBehindInterval }
            guard rewrite(index) else {
                failDisk(of: index)
                continue
            }
            if partitions[index].changelog.read(to: reading.last, next: reading.end, now: now) {
                ports.tell(.changelogAnew(partition: reading.number))
            }
            if partitions[index].changes.rewrites == 0 { partitions[index].changelog.completed() }
            restored(index)
        }
        ports.tell(.restored(whole.map(\.number), records: whole.reduce(0) { $0 + $1.count }))
    }
}
