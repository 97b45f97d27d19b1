import Push

/// What travels through librdkafka with an output and comes back with its acknowledgement: whose it is and how it ended.
struct DeliveryTag {
    /// The table's index has 32 bits of the number and needs far fewer: these are free.
    private static let shift: UInt64 = 24
    private static let mask: UInt64 = 0xFF << shift

    let rawValue: UInt64

    init(rawValue: UInt64) { self.rawValue = rawValue }

    init(_ ticket: InFlightTable.Ticket, _ verdict: Verdict) {
        let ending = verdict.reason.map { 0x80 | UInt64($0.rawValue) } ?? UInt64(verdict.outcome.rawValue)
        rawValue = ticket.rawValue & ~Self.mask | ending << Self.shift
    }

    /// Of a record of the changelog: tickets, which are never so small, have none.
    init(changelogPartition partition: Int32) { rawValue = UInt64(UInt32(bitPattern: partition)) }

    var changelogPartition: Int32? {
        rawValue >> 32 == 0 ? Int32(truncatingIfNeeded: rawValue) : nil
    }

    var ticket: InFlightTable.Ticket { InFlightTable.Ticket(rawValue: rawValue & ~Self.mask) }

    private var ending: Int { Int((rawValue & Self.mask) >> Self.shift) }

    /// nil for a dead letter.
    var outcome: Outcome? { ending < 0x80 ? Outcome(rawValue: ending) : nil }

    var reason: DeadLetterReason? { ending < 0x80 ? nil : DeadLetterReason(rawValue: ending & 0x7F) }
}
