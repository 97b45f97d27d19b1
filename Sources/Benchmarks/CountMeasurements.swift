import PushmillEngine
import PushmillStages
import PushmillStores

/// The cost of the counts of many accounts: to restore them from a changelog into memory and files, to open the files
/// again, and to take messages whose accounts are in memory, only in the file, or new.
package struct CountMeasurements: Sendable {
    private static let accounts = 1_000_000
    /// Bytes of memory: most of the accounts are only in the file.
    private static let budget = 16 << 20
    private static let recordsOfBatch = 2_000
    private static let messagesOfBatch = 256
    private static let batches = 50

    package private(set) var restoreSeconds = 0.0
    /// Microseconds of CPU per message: the account is looked up, changed, stored and released.
    package private(set) var hot = 0.0
    package private(set) var cold = 0.0
    package private(set) var new = 0.0

    private let secret: AccountSecret

    private final class Partition {
        var counts: PartitionCounts<CountFile>

        init(in folder: CountFolder) {
            counts = PartitionCounts(disk: folder.open(topic: "bench", partition: 0), budget: budget, undoes: false)
        }
    }

    private struct DiskFailure: Error, CustomStringConvertible {
        var description: String { "cannot write counts to the disk" }
    }

    /// Writes into the folder, which must be empty.
    package init(in path: String) throws {
        let folder = try CountFolder(path: path, cluster: "bench", changelog: "badges")
        let empty = Partition(in: folder)
        secret = empty.counts.secret
        let clock = ContinuousClock()
        let begin = clock.now
        try restore(empty)
        restoreSeconds = (clock.now - begin) / .seconds(1)
        let partition = Partition(in: folder)
        guard partition.counts.beginRestore() != nil else { throw DiskFailure() }
        try measure(partition)
    }

    /// Restores records in the order of a log, which is unrelated to that of the hashes.
    private func restore(_ partition: Partition) throws(DiskFailure) {
        var rows: [CountRow] = []
        _ = partition.counts.beginRestore()
        var last: RecordPosition?
        for first in stride(from: 0, to: Self.accounts, by: Self.recordsOfBatch) {
            rows.removeAll(keepingCapacity: true)
            let batch = first..<min(Self.accounts, first + Self.recordsOfBatch)
            for account in batch {
                let state = CountState(count: Int32(truncatingIfNeeded: account % 100), offset: Int64(account))
                rows.append(CountRow(hash(account), state))
            }
            let position = RecordPosition(partition: 0, offset: Int64(batch.upperBound - 1), timestamp: 0)
            guard partition.counts.restore(rows, at: position, key: { _ in [] }) else { throw DiskFailure() }
            last = position
        }
        guard partition.counts.writeBehind(at: last) else { throw DiskFailure() }
    }

    private func hash(_ account: Int) -> AccountHash {
        withUnsafeBytes(of: (UInt64(account), UInt64(0), UInt64(0), UInt64(0))) { secret.hash($0) }
    }

    private mutating func measure(_ partition: Partition) throws(DiskFailure) {
        let messages = 0..<Self.messagesOfBatch * Self.batches
        // Each account of the file at most once, in an order far from that of the log.
        let many = messages.map { hash($0 * 7_919_317 % Self.accounts) }
        let few = Array(many.prefix(Self.messagesOfBatch * 8))
        cold = try time(many, partition)
        new = try time(messages.map { hash(Self.accounts + $0) }, partition)
        _ = try time(few, partition)
        hot = try time(messages.map { few[$0 * 31 % few.count] }, partition)
        guard partition.counts.writeBehind(at: nil) else { throw DiskFailure() }
    }

    /// Microseconds of CPU per message, without the time of writing behind.
    private func time(_ accounts: [AccountHash], _ partition: Partition) throws(DiskFailure) -> Double {
        let size = Self.messagesOfBatch
        var taken = 0.0
        for first in stride(from: 0, to: accounts.count, by: size) {
            let begin = Measurement.threadNanoseconds()
            let batch = first..<min(accounts.count, first + size)
            for index in batch { partition.counts.want(accounts[index]) }
            guard partition.counts.load() else { throw DiskFailure() }
            for index in batch {
                guard var state = partition.counts.state(of: accounts[index]) else { throw DiskFailure() }
                state.count &+= 1
                state.offset += 1
                _ = partition.counts.change(accounts[index], to: state, by: UInt32(index + 1))
                partition.counts.stored(accounts[index], state)
                partition.counts.release(accounts[index], entry: UInt32(index + 1))
            }
            taken += Measurement.threadNanoseconds() - begin
            if partition.counts.pendingRows > 20_000, !partition.counts.writeBehind(at: nil) { throw DiskFailure() }
        }
        return taken / 1e3 / Double(accounts.count)
    }
}
