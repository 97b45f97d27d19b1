import PushmillEngine
package import PushmillPayload

/// An input event, and what happens to it.
package struct SimulatedEvent: Sendable {
    package enum Behaviour: Sendable {
        case immediate
        /// A stage suspends it for `delay`.
        case suspended
        /// Its stage ends close to its deadline, later, or never.
        case late
        case deadLetter
        /// Published nowhere.
        case dropped
        /// Brokers refuse its output, and the whole batch with it.
        case refusedByBrokers
        /// The client refuses its output.
        case refusedByClient
    }

    package var recipient: Int32
    package var topic: Int
    package var partition: Int32
    /// Nil for an event that is not counted.
    package var operation: BadgeOperation?
    package var behaviour = Behaviour.immediate
    /// Nanoseconds.
    package var delay: UInt64 = 0
    /// What refuses its dead letter. A letter that only names the event is never refused.
    package var letterRefuser: Refuser?

    package init(recipient: Int32, topic: Int, partition: Int32) {
        self.recipient = recipient
        self.topic = topic
        self.partition = partition
    }

    /// Its count changes, whatever becomes of its output.
    var isCounted: Bool { operation != nil && behaviour != .deadLetter && behaviour != .dropped }

    var mayBeLetter: Bool {
        switch behaviour {
        case .deadLetter, .refusedByBrokers, .refusedByClient: true
        case .immediate, .suspended, .late, .dropped: false
        }
    }
}

package struct SimulatedMessage: LentMessage {
    package let topic: UInt32
    package let partition: Int32
    package let offset: Int64
    package let timestamp: Int64
    package let event: Int32
    package var byteCount: Int { 500 }
    package var headerByteCount: Int { 100 }
}

/// What always refuses a record. Brokers refuse the whole batch with it.
package enum Refuser: Sendable { case brokers, client }

package struct SimulatedOutput: Sendable {
    package var value: OutputValue
    /// A dead letter that only names the event.
    package var isNameOnly = false
    var outputRefuser: Refuser?
    var letterRefuser: Refuser?

    var refuser: Refuser? { isNameOnly ? nil : value.isLetter ? letterRefuser : outputRefuser }

    /// Turns a refused output into a dead letter, and a refused letter into one that only names the event.
    mutating func refuse() { if value.isLetter { isNameOnly = true } else { value.isLetter = true } }
}
