import Stores

/// What the messages in flight have done to their recipients' counts, by ticket.
///
/// Unchecked because each place belongs to whoever has its ticket: the thread that publishes the message, then the one
/// that learns how that ended. librdkafka, which carries the ticket from one to the other, puts them in order; where an
/// output waits in between, the mutex of `HeldOutputs` does. Nothing from outside chooses a place: tickets are asked for
/// here only when the table has given them out, and it gives out no more of them than there are places.
final class ChangeTable: @unchecked Sendable {
    private let changes: UnsafeMutableBufferPointer<BadgeChange?>

    init(limit: Int) {
        changes = .allocate(capacity: limit)
        changes.initialize(repeating: nil)
    }

    deinit {
        changes.deinitialize()
        changes.deallocate()
    }

    func put(_ change: BadgeChange, for ticket: InFlightTable.Ticket) { changes[ticket.index] = change }

    func has(_ ticket: InFlightTable.Ticket) -> Bool { changes[ticket.index] != nil }

    func take(_ ticket: InFlightTable.Ticket) -> BadgeChange? { changes[ticket.index].take() }
}
