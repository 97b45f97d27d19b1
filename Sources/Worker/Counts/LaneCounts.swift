import Push
import Stores
import Telemetry

/// The counts of the recipients whose messages one lane runs. Used on its thread.
struct LaneCounts: ~Copyable {
    private var live: LiveCounts
    private let reader: BadgeReader
    private let keeper: CountKeeper
    private var leases: [Int32: CountLease] = [:]

    init(_ live: consuming LiveCounts, _ reader: consuming BadgeReader, _ keeper: CountKeeper) {
        self.live = live
        self.reader = reader
        self.keeper = keeper
    }

    /// Takes the count of the record's recipient in the app of its `apns-topic` for one message; nil if the message has to
    /// wait for it.
    mutating func begin(_ record: InputRecord) -> LiveCounts.Slot? {
        guard !keeper.isOnHold, let lease = lease(of: record.source.partition) else { return nil }
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let recipient = (record.recipient ?? none).bytes
        let app = (record.app ?? none).bytes
        do throws(StoreError) {
            return try live.begin(recipient: recipient, app: app, lease: lease) { () throws(StoreError) in
                try reader.count(recipient: recipient, app: app, lease: lease)
            }
        } catch {
            keeper.log.error("a count cannot be read: its message waits", [.error(error)])
            return nil
        }
    }

    private mutating func lease(of partition: Int32) -> CountLease? {
        if let lease = keeper.ownLease { return lease }
        if let lease = leases[partition], !lease.isOver { return lease }
        let lease = keeper.lease(of: partition)
        leases[partition] = lease
        return lease
    }

    mutating func end(_ slot: LiveCounts.Slot, _ operation: BadgeOperation?) { live.end(slot, operation) }
}
