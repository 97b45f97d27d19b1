import Synchronization

/// The timestamps of records whose outputs wait for their acknowledgement, which itself tells the broker's time where
/// the broker sets one. Written by whoever publishes, read by whoever hears of the end.
final class RecordTimes: Sendable {
    // Atomics that live as long as this object.
    nonisolated(unsafe) private let times: UnsafeMutableBufferPointer<Atomic<Int64>>

    /// For so many in flight.
    init(limit: Int) {
        times = .allocate(capacity: limit)
        for index in 0..<limit { times.initializeElement(at: index, to: Atomic(0)) }
    }

    deinit { times.deallocate() }

    /// Milliseconds since 1970.
    subscript(ticket: InFlightTable.Ticket) -> Int64 {
        get { times[ticket.index].load(ordering: .relaxed) }
        set { times[ticket.index].store(newValue, ordering: .relaxed) }
    }
}
