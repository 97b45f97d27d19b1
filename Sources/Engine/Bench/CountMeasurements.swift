import Glibc
package import PushmillStores

/// What the counts of many accounts cost: to restore them from a changelog into memory and files, to open the files again,
/// and to take messages whose accounts are in memory, in the file, or nowhere.
package struct CountMeasurements: Sendable {
    package struct Options: Sendable {
        package var accounts = 20_000_000
        package var partitions = 8
        /// Bytes of all partitions together.
        package var budget = 320 << 20
        package var recordsOfBatch = 2_000
        package var messagesOfBatch = 256
        package var batches = 400

        package init() {}
    }

    package private(set) var restoreSeconds = 0.0
    /// Of it, this thread's CPU: the rest is the disk, and other processes.
    package private(set) var restoreCPUSeconds = 0.0
    package private(set) var reopenSeconds = 0.0
    /// At the most, since the process began; and how much of that there was before.
    package private(set) var residentMegabytes = 0.0
    package private(set) var residentBefore = 0.0
    /// Microseconds of CPU a message: the account is looked for, changed, stored and released.
    package private(set) var hot = 0.0
    package private(set) var cold = 0.0
    package private(set) var new = 0.0

    private let options: Options
    private let secret: AccountSecret

    /// Writes into the folder, which is empty. Nil where the disk failed.
    package init?(in path: String, options: Options = Options()) throws(StoreError) {
        self.options = options
        let folder = try CountFolder(path: path, cluster: "bench", changelog: "badges")
        secret = folder.secret
        residentBefore = Self.resident()
        let clock = ContinuousClock()
        let (begin, cpu) = (clock.now, Self.threadSeconds())
        guard restore(open(folder)) else { return nil }
        restoreSeconds = (clock.now - begin) / .seconds(1)
        restoreCPUSeconds = Self.threadSeconds() - cpu
        let end = clock.now
        let partitions = open(folder)
        for partition in partitions where partition.counts.beginRestore() == nil { return nil }
        reopenSeconds = (clock.now - end) / .seconds(1)
        guard let first = partitions.first, measure(first) else { return nil }
        residentMegabytes = Self.resident()
    }

    private final class Partition {
        let number: Int
        var counts: PartitionCounts<CountFile>

        init(_ number: Int, _ file: CountFile, budget: Int) {
            self.number = number
            counts = PartitionCounts(disk: file, budget: budget, undoes: false)
        }
    }

    private func open(_ folder: CountFolder) -> [Partition] {
        (0..<options.partitions).map {
            let file = folder.open(topic: "bench", partition: Int32($0))
            return Partition($0, file, budget: options.budget / options.partitions)
        }
    }

    // MARK: Restoring

    /// Partitions in turn, their records in the order of a log, which is none of the hashes.
    private func restore(_ partitions: [Partition]) -> Bool {
        let share = options.accounts / options.partitions
        var rows: [PartitionCounts<CountFile>.Row] = []
        for partition in partitions { _ = partition.counts.beginRestore() }
        for first in stride(from: 0, to: share, by: options.recordsOfBatch) {
            let batch = first..<min(share, first + options.recordsOfBatch)
            for partition in partitions {
                rows.removeAll(keepingCapacity: true)
                for account in batch {
                    rows.append(
                        (
                            account: hash(account, of: partition),
                            state: CountState(count: Int32(truncatingIfNeeded: account % 100), offset: Int64(account))
                        ))
                }
                let last = ChangelogPosition(
                    partition: Int32(partition.number), offset: Int64(batch.upperBound - 1), timestamp: 0)
                guard partition.counts.restore(rows, at: last, stale: { _ in }) else { return false }
            }
        }
        for partition in partitions {
            let last = ChangelogPosition(partition: Int32(partition.number), offset: Int64(share - 1), timestamp: 0)
            guard partition.counts.writeBehind(at: last) else { return false }
        }
        return true
    }

    private func hash(_ account: Int, of partition: Partition) -> AccountHash {
        withUnsafeBytes(of: (UInt64(account), UInt64(partition.number), UInt64(0), UInt64(0))) { secret.hash($0) }
    }

    // MARK: Messages

    private mutating func measure(_ partition: Partition) -> Bool {
        let share = options.accounts / options.partitions
        let (size, batches) = (options.messagesOfBatch, options.batches)
        // Every account of the file once at most, far from each other in the log.
        let cold = (0..<size * batches).map { hash($0 * 7_919_317 % share, of: partition) }
        let few = Array(cold.prefix(size * 8))
        let hot = (0..<size * batches).map { few[$0 * 31 % few.count] }
        let new = (0..<size * batches).map { hash(share + $0, of: partition) }
        guard let coldTime = time(cold, partition), let newTime = time(new, partition), time(few, partition) != nil,
            let hotTime = time(hot, partition)
        else { return false }
        (self.cold, self.new, self.hot) = (coldTime, newTime, hotTime)
        return partition.counts.writeBehind(at: nil)
    }

    /// Microseconds of CPU a message. What is written behind between is not counted.
    private func time(_ accounts: [AccountHash], _ partition: Partition) -> Double? {
        let size = options.messagesOfBatch
        var taken = 0.0
        for first in stride(from: 0, to: accounts.count, by: size) {
            let begin = Self.threadSeconds()
            let batch = first..<min(accounts.count, first + size)
            for index in batch { partition.counts.want(accounts[index]) }
            guard partition.counts.load() else { return nil }
            for index in batch {
                guard let cell = partition.counts.cell(of: accounts[index]) else { return nil }
                var state = partition.counts.state(of: cell)
                state.count &+= 1
                state.offset += 1
                _ = partition.counts.change(cell, to: state, by: UInt32(index + 1))
                partition.counts.stored(accounts[index], state)
                partition.counts.release(accounts[index], entry: UInt32(index + 1))
            }
            taken += Self.threadSeconds() - begin
            if partition.counts.pendingRows > 20_000, !partition.counts.writeBehind(at: nil) { return nil }
        }
        return taken * 1e6 / Double(accounts.count)
    }

    private static func threadSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func resident() -> Double {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return Double(usage.ru_maxrss) / 1024
    }
}
