/// A record's content. Nothing here is parsed: the simulation is about where records go.
package enum Content: Sendable, Equatable {
    /// An input event, by its number in the scenario.
    case event(Int32)
    case output(OutputValue)
    /// A record with a key and perhaps a value: of the changelog, or of scripted histories.
    case change(key: [UInt8], value: [UInt8]?)
    case marker(commits: Bool)
}

/// What is published for an event.
package struct OutputValue: Sendable, Equatable {
    package var event: Int32
    package var recipient: Int32
    package var topic: Int
    package var partition: Int32
    package var offset: Int64
    /// -1 if no badge is shown.
    package var badge: Int32 = -1
    package var isLetter = false
}

/// Why brokers refuse a batch.
package enum Refusal: Sendable, Equatable {
    case tooLarge, badTimestamp, invalidRecord
    /// The batch before it is missing.
    case outOfOrder
    /// A later epoch of the producer was seen.
    case fenced
    /// The producer's previous transaction has not ended everywhere yet: the batch is to be sent again.
    case concurrentTransaction
    /// The producer has no transaction that includes this partition.
    case noTransaction
    /// No broker has stored or refused it for so long that the client gives it up.
    case timedOut

    /// True if the record itself is the reason: sending it again changes nothing.
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
    /// Why brokers refuse it; nil if they do not.
    package var refusal: Refusal?

    package init(_ content: Content, timestamp: Int64 = 0, refusal: Refusal? = nil) {
        self.content = content
        self.timestamp = timestamp
        self.refusal = refusal
    }
}

/// A batch of one producer for one partition.
package struct Batch: Sendable {
    /// -1 for a producer that is not idempotent.
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
    /// Stored at this offset, now or when it was first sent.
    case stored(Int64)
    case refused(Refusal)
}
