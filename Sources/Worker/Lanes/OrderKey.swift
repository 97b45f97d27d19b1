/// What must keep its order.
package enum Ordering: String, CaseIterable, Sendable {
    case key, partition, none
}

/// Messages with equal order keys run one after the other. It is 64 bits of a hash seeded anew in each process and not
/// the key itself: should two keys ever share them, one waits for the other now and then, and no order is lost.
package struct OrderKey: Hashable, Sendable {
    private let bits: UInt64

    package init(recipient: UnsafeRawBufferPointer) {
        var hasher = Hasher()
        hasher.combine(bytes: recipient)
        bits = UInt64(truncatingIfNeeded: UInt(bitPattern: hasher.finalize()))
    }

    package init(slot: PartitionSlot) {
        var hasher = Hasher()
        hasher.combine(slot)
        bits = UInt64(truncatingIfNeeded: UInt(bitPattern: hasher.finalize()))
    }

    /// The lane, below `count`, where all messages of this key run.
    package func lane(of count: Int) -> Int { Int(bits.multipliedFullWidth(by: UInt64(count)).high) }
}

extension Ordering {
    /// nil where nothing needs to wait for anything: no order is asked for, or the message has no recipient.
    package func key(recipient: UnsafeRawBufferPointer?, slot: PartitionSlot) -> OrderKey? {
        switch self {
        case .key: recipient.map { OrderKey(recipient: $0) }
        case .partition: OrderKey(slot: slot)
        case .none: nil
        }
    }
}
