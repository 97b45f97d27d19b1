/// What a record says. Nothing here is parsed: the simulation is about where records go.
package enum Content: Sendable, Equatable {
    /// An input event, by its number in the scenario.
    case event(Int32)
    case output(OutputValue)
    /// A record with a key and perhaps no value: the changelog's, and those of scripted histories.
    case change(key: [UInt8], value: [UInt8]?)
    case marker(commits: Bool)
}

/// What is published of an event.
package struct OutputValue: Sendable, Equatable {
    package var event: Int32
    package var recipient: Int32
    package var topic: Int
    package var partition: Int32
    package var offset: Int64
    /// -1 where none is shown.
    package var badge: Int32 = -1
    package var isLetter = false
}

/// Why brokers do not take a batch.
package enum Refusal: Sendable, Equatable {
    case tooLarge, badTimestamp, invalidRecord
    /// The batch before it is missing.
    case outOfOrder
    /// A later epoch of its producer was seen.
    case fenced
    /// To be sent again: its transaction before the last has not ended everywhere yet.
    case concurrentTransaction
    /// Its producer has no transaction of this partition.
    case noTransaction
    /// Nobody has taken or refused it for so long that its client gives it up.
    case timedOut

    /// Of the record itself, so that sending it again changes nothing.
    package var isOfRecord: Bool {
        switch self {
        case .tooLarge, .badTimestamp, .invalidRecord: true
        default: false
        }
    }
}

package struct NewRecord: Sendable {
    package var content: Content
    package var timestamp: Int64
    /// Brokers refuse it for this.
    package var refusal: Refusal?

    package init(_ content: Content, timestamp: Int64 = 0, refusal: Refusal? = nil) {
        self.content = content
        self.timestamp = timestamp
        self.refusal = refusal
    }
}

/// A batch of one producer for one partition.
package struct Batch: Sendable {
    /// -1 for one that is not idempotent.
    package var producer: Int32 = -1
    package var epoch: Int16 = 0
    package var sequence: Int32 = 0
    package var isTransactional = false
    package var records: [NewRecord]

    package init(_ records: [NewRecord], producer: Int32 = -1, epoch: Int16 = 0, sequence: Int32 = 0) {
        self.records = records
        self.producer = producer
        self.epoch = epoch
        self.sequence = sequence
    }
}

package enum AppendAnswer: Sendable, Equatable {
    /// At this offset, now or when it was sent the first time.
    case stored(Int64)
    case refused(Refusal)
}
