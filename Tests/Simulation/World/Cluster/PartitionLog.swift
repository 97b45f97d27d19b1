/// Notified if a log may have more to read.
package protocol LogWatcher: AnyObject {
    func logChanged(_ log: PartitionLog)
}

/// One partition at its leader. Every append is replicated at once: the high watermark is the end.
package final class PartitionLog {
    package struct Entry: Sendable {
        package let offset: Int64
        package let timestamp: Int64
        /// When it was appended, on the simulated clock.
        package let time: UInt64
        /// The transaction that it is part of; 0 for none.
        package let transaction: Int
        package let content: Content

        /// The key of a changelog record.
        var account: [UInt8]? { if case .change(let key, _) = content { key } else { nil } }
    }

    struct ProducerState {
        let producer: Int32
        var epoch: Int16
        var nextSequence: Int32 = 0
        /// First sequence and offset of the last five batches, by which resent batches are recognized.
        var recent: [(sequence: Int32, base: Int64)] = []

        /// Restores what brokers know of the producer from the batches that are left.
        mutating func cut(from offset: Int64) {
            nextSequence = recent.first { $0.base >= offset }?.sequence ?? nextSequence
            recent.removeAll { $0.base >= offset }
        }
    }

    package let topic: Int
    package let partition: Int32
    /// Ordered by offset, with possible gaps.
    package internal(set) var entries: [Entry] = []
    package internal(set) var start: Int64 = 0
    package internal(set) var end: Int64 = 0
    /// Grows each time the log is recreated or truncated.
    package internal(set) var incarnation = 0
    package var isLeaderAway = false { didSet { if !isLeaderAway { changed() } } }
    package var awayUntil: UInt64 = 0
    /// Until then a new leader takes the log to be shorter, and rejects offsets that it holds.
    package var deniesUntil: UInt64 = 0
    /// The open transactions and their first offsets here, ordered by offset.
    private(set) var open: [(transaction: Int, producer: Int32, first: Int64)] = []
    private var producers: [ProducerState] = []
    private var watchers: [any LogWatcher] = []
    private unowned let cluster: Cluster

    init(topic: Int, partition: Int32, cluster: Cluster) {
        self.topic = topic
        self.partition = partition
        self.cluster = cluster
    }

    /// The last stable offset: readers of committed records stop there, and brokers report it to them as the end.
    package var lastStable: Int64 { max(start, open.first?.first ?? end) }

    /// The index of the first entry at or after an offset.
    package func index(of offset: Int64) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].offset < offset { low = middle + 1 } else { high = middle }
        }
        return low
    }

    package func entry(at offset: Int64) -> Entry? {
        let index = index(of: offset)
        return index < entries.count && entries[index].offset == offset ? entries[index] : nil
    }

    // MARK: Appending

    /// Appends all of the batch or nothing. `transaction` is the one that the producer has open; 0 for none.
    package func append(_ batch: Batch, transaction: Int = 0) -> AppendAnswer {
        guard batch.producer >= 0 else { return take(batch, transaction: transaction) }
        var index = producers.firstIndex { $0.producer == batch.producer } ?? -1
        if index < 0 {
            producers.append(ProducerState(producer: batch.producer, epoch: batch.epoch))
            index = producers.count - 1
            // Some brokers accept any first sequence of a producer that they do not know: the second batch of a new
            // producer may then overtake its first, refused one. That is for brokers to fix, and is not simulated.
            guard batch.sequence == 0 else { return .refused(.outOfOrder) }
        }
        guard batch.epoch >= producers[index].epoch else { return .refused(.fenced) }
        if batch.epoch > producers[index].epoch {
            guard batch.sequence == 0 else { return .refused(.outOfOrder) }
            producers[index] = ProducerState(producer: batch.producer, epoch: batch.epoch)
        }
        if let known = producers[index].recent.first(where: { $0.sequence == batch.sequence }) {
            return .stored(known.base)
        }
        guard batch.sequence == producers[index].nextSequence else { return .refused(.outOfOrder) }
        let answer = take(batch, transaction: transaction)
        guard case .stored(let base) = answer else { return answer }
        producers[index].nextSequence += Int32(batch.records.count)
        producers[index].recent.append((batch.sequence, base))
        if producers[index].recent.count > 5 { producers[index].recent.removeFirst() }
        return answer
    }

    private func take(_ batch: Batch, transaction: Int) -> AppendAnswer {
        for record in batch.records {
            if let refusal = record.refusal { return refused(refusal) }
            if record.timestamp > cluster.wallClock + Cluster.latestTimestamp { return refused(.badTimestamp) }
        }
        let base = end
        if transaction > 0, !open.contains(where: { $0.transaction == transaction }) {
            open.append((transaction, batch.producer, base))
        }
        for record in batch.records {
            let entry = Entry(
                offset: end, timestamp: record.timestamp > 0 ? record.timestamp : cluster.wallClock,
                time: cluster.timeline.now, transaction: transaction, content: record.content)
            entries.append(entry)
            end += 1
            cluster.witness?.stored(entry, in: self)
        }
        cluster.timeline.note(identity, .append, base, Int64(batch.records.count), Int64(transaction))
        changed()
        return .stored(base)
    }

    private func refused(_ refusal: Refusal) -> AppendAnswer {
        cluster.timeline.note(identity, .refuse, end)
        return .refused(refusal)
    }

    /// Offsets that the log will never hold.
    package func skip(_ count: Int64) { end += count }

    /// Ends a transaction here. The marker takes an offset, and its epoch fences batches still in flight.
    func mark(_ transaction: Int, commits: Bool, producer: Int32, epoch: Int16) {
        if let index = producers.firstIndex(where: { $0.producer == producer }), producers[index].epoch < epoch {
            producers[index] = ProducerState(producer: producer, epoch: epoch)
        }
        open.removeAll { $0.transaction == transaction }
        entries.append(
            Entry(
                offset: end, timestamp: cluster.wallClock, time: cluster.timeline.now, transaction: transaction,
                content: .marker(commits: commits)))
        end += 1
        cluster.timeline.note(identity, .marker, end - 1, Int64(transaction), commits ? 1 : 0)
        changed()
    }

    // MARK: Reading

    /// Up to `limit` committed records from an offset on, as a reader gets them, and the next offset to read.
    package func read(from offset: Int64, limit: Int) -> (records: [Entry], next: Int64) {
        var (records, index, next) = ([Entry](), index(of: offset), offset)
        let stable = lastStable
        while index < entries.count, entries[index].offset < stable, records.count < limit {
            let entry = entries[index]
            if isVisible(entry) { records.append(entry) }
            next = entry.offset + 1
            index += 1
        }
        if records.count < limit { next = max(next, stable) }
        return (records, next)
    }

    package func isVisible(_ entry: Entry) -> Bool {
        if case .marker = entry.content { return false }
        return entry.transaction == 0 || cluster.transactions.outcome(of: entry.transaction) == .committed
    }

    package func watch(_ watcher: any LogWatcher) {
        guard !watchers.contains(where: { $0 === watcher }) else { return }
        watchers.append(watcher)
    }

    package func unwatch(_ watcher: any LogWatcher) { watchers.removeAll { $0 === watcher } }

    func changed() {
        guard !isLeaderAway else { return }
        for watcher in watchers { watcher.logChanged(self) }
    }

    // MARK: What happens to logs

    /// Keeps the last record of each key among those older than the lag. Records after that are not touched, nor is the
    /// last batch, whose segment is not closed.
    package func compact(minLag: Int64) {
        let stable = lastStable
        guard let last = entries.last else { return }
        compact(
            entries.firstIndex {
                $0.offset >= stable || $0.timestamp > cluster.wallClock - minLag || $0.time == last.time
            } ?? entries.count)
    }

    /// Compacts, much later, all that the log held at that time, if a later record has closed the segment.
    package func compact(closedAt time: UInt64) {
        guard let next = entries.firstIndex(where: { $0.time > time }), entries[next].offset <= lastStable else {
            return
        }
        compact(next)
    }

    private func compact(_ border: Int) {
        var last: [[UInt8]: Int64] = [:]
        for entry in entries[..<border] where isVisible(entry) {
            if case .change(let key, _) = entry.content { last[key] = entry.offset }
        }
        let kept = entries[..<border].filter { entry in
            guard isVisible(entry), case .change(let key, _) = entry.content else { return false }
            return last[key] == entry.offset
        }
        cluster.timeline.note(identity, .compact, Int64(border), Int64(kept.count))
        entries.replaceSubrange(..<border, with: kept)
    }

    /// Drops what is before an offset, as retention does.
    package func expire(before offset: Int64) {
        entries.removeFirst(index(of: offset))
        start = min(max(start, offset), end)
    }

    /// The offset from which the last `count` entries can be cut, or fewer: no transaction may lose only some of them.
    /// One that ended without its marker would be open for good, until an operator ends it.
    package func border(before count: Int) -> Int64 {
        var index = max(0, entries.count - count)
        while index < entries.count, isTorn(at: index) { index += 1 }
        // Batches are cut as a whole.
        while index > 0, index < entries.count, entries[index - 1].time == entries[index].time { index -= 1 }
        return index < entries.count ? entries[index].offset : end
    }

    private func isTorn(at index: Int) -> Bool {
        let before = Set(entries[..<index].map(\.transaction)).subtracting([0])
        return entries[index...].contains { before.contains($0.transaction) }
    }

    /// Drops what comes from an offset on, as an unclean election does. From 0 on: the topic was recreated.
    package func cut(from offset: Int64) {
        entries.removeLast(entries.count - index(of: offset))
        end = offset
        start = min(start, offset)
        incarnation += 1
        open.removeAll { $0.first >= offset }
        if offset == 0 { producers = [] }
        for index in producers.indices { producers[index].cut(from: offset) }
        changed()
    }

    func letGo() { watchers = [] }

    /// The log's number in histories: 100 for each topic.
    package var identity: Int { 1_000 + topic * 100 + Int(partition) }
}
