import Kafka
import Push

/// A record on its way to a lane.
struct LaneItem: Sendable {
    let record: Record
    let ticket: InFlightTable.Ticket
    let slot: PartitionSlot
    /// nil where nothing needs to wait for it.
    let key: OrderKey?
    /// When it was taken from Kafka.
    let taken: Instant
}
