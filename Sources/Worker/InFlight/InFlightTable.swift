/// Every record between the poller and its acknowledgement, bounded in number and bytes. Its ticket is what travels
/// through librdkafka. For one thread at a time: callers lock once a batch. Allocates only when it is made.
package struct InFlightTable: Sendable {
    package struct Delivery: Equatable, Sendable {
        package let slot: PartitionSlot
        package let offset: Int64
        package let byteCount: Int

        package init(slot: PartitionSlot, offset: Int64, byteCount: Int) {
            self.slot = slot
            self.offset = offset
            self.byteCount = byteCount
        }
    }

    /// One stay in the table; never 0 as a number.
    package struct Ticket: Hashable, Sendable {
        fileprivate let handle: Slab<Delivery>.Handle

        package var rawValue: UInt64 { handle.rawValue }

        /// Below the table's limit, and no other's while this one is in flight.
        var index: Int { Int(handle.index) }

        package init(rawValue: UInt64) { handle = Slab<Delivery>.Handle(rawValue: rawValue) }

        fileprivate init(_ handle: Slab<Delivery>.Handle) { self.handle = handle }
    }

    private var deliveries: Slab<Delivery>
    package private(set) var slots = PartitionSlots()
    package private(set) var byteCount = 0
    private let limit: Int
    private let byteLimit: Int

    package init(limit: Int, byteLimit: Int) {
        precondition(limit > 0, "nothing could ever be taken")
        self.limit = limit
        self.byteLimit = byteLimit
        deliveries = Slab(minimumCapacity: limit)
    }

    package var count: Int { deliveries.count }

    /// At most three quarters of either limit: time to resume what was paused.
    package var isRelieved: Bool { count <= limit / 4 * 3 && byteCount <= byteLimit / 4 * 3 }

    /// Room for one more of this size. A record larger than the limit has room when it is alone.
    package func hasRoom(for byteCount: Int) -> Bool {
        count == 0 || count < limit && byteCount <= byteLimit - self.byteCount
    }

    /// nil when there is no room.
    package mutating func insert(_ delivery: Delivery) -> Ticket? {
        guard hasRoom(for: delivery.byteCount) else { return nil }
        slots.add(1, to: delivery.slot)
        byteCount += delivery.byteCount
        return Ticket(deliveries.insert(delivery))
    }

    /// nil for a ticket that was already given back.
    package subscript(ticket: Ticket) -> Delivery? { deliveries[ticket.handle] }

    /// nil for a ticket that was already given back. The slot of the delivery may be closed by now: ask `slots`.
    package mutating func remove(_ ticket: Ticket) -> Delivery? {
        guard let delivery = deliveries.remove(ticket.handle) else { return nil }
        byteCount -= delivery.byteCount
        slots.add(-1, to: delivery.slot)
        return delivery
    }

    package mutating func openSlot() -> PartitionSlot { slots.open() }

    package mutating func close(_ slot: PartitionSlot) { slots.close(slot) }
}
