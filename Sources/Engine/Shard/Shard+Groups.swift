import PushmillStages
import PushmillStores

/// Messages that have been taken run in groups, each stage for all of a group.
extension Shard where Ports: ~Copyable {
    /// Runs the messages that were taken, while their outputs can be published.
    mutating func runBatch() {
        while canRun {
            fillGroup()
            guard !group.isEmpty else { return }
            ports.begin(group, now: now)
            for index in group.indices { takeStep(index) }
            group.removeAll(keepingCapacity: true)
        }
    }

    /// Messages that run together: all of different keys, since each must have ended before the next of its key begins.
    private mutating func fillGroup() {
        // An entry is free if its partition was given back or rewound in the meantime.
        while group.count < Self.groupSize {
            if let entry = unblocked.popLast() {
                if entries[entry].state == .waiting { join(entry) }
            } else if batchNext < batch.count {
                let entry = batch[batchNext]
                let isWaiting = entries[entry].state == .waiting
                if isWaiting, isKeyInGroup(entry) { return }
                prepare(batchNext + Self.prepareDistance, isNear: true)
                batchNext += 1
                if isWaiting, !queueBehindKey(entry) { join(entry) }
            } else {
                return
            }
        }
    }

    private mutating func isKeyInGroup(_ entry: UInt32) -> Bool {
        guard !group.isEmpty, !PlantedFault.isPlanted(.sameKeyTogether) else { return false }
        setKey(of: entry)
        let key = entries[entry].key
        if key == 0, !entries[entry].hasAccount { return false }
        for other in group {
            setKey(of: other.entry)
            // Without an order, messages of one account are still counted one after another.
            let isSame =
                key != 0
                ? entries[other.entry].key == key
                : entries[other.entry].hasAccount && entries[other.entry].account == entries[entry].account
            if isSame { return true }
        }
        return false
    }

    private mutating func join(_ entry: UInt32) {
        guard let message = messages[Int(entry)] else { return }
        let index = entries[entry].partition
        var count: Int32?
        if entries[entry].hasAccount {
            // While the message waited for its key, its account may have been evicted from memory.
            guard let state = countState(of: entry) else {
                failDisk(of: index)
                group = group.filter { entries[$0.entry].state == .waiting }
                return
            }
            count = state.count
            let event = CountState(
                count: 0, incarnation: partitions[index].incarnation, offset: entries[entry].offset)
            entries[entry].wasCounted = !(state < event) && !PlantedFault.isPlanted(.redeliveredCountedAgain)
        }
        group.append(
            MessageTurn(
                message, entry: entry, taken: entries[entry].isLate ? nil : entries[entry].taken, count: count,
                isCounted: entries[entry].wasCounted))
    }

    private mutating func takeStep(_ index: Int) {
        let (entry, message) = (group[index].entry, group[index].message)
        // The disk of its partition has failed for an earlier one of the group.
        guard entries[entry].state == .waiting else { return }
        let step = ports.takeStep(index, of: group[index], now: now)
        if case .suspended = step {
            setKey(of: entry)
            // Replaces the bytes that it took while it waited.
            let bytes = message.byteCount + ports.byteCount(ofSuspended: Int(entry))
            entries.add(bytes: bytes - Int(entries[entry].byteCount), to: entry)
            messages[Int(entry)] = nil
            ports.release(message)
        }
        handle(step, of: entry)
    }
}
