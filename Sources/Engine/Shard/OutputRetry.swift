import PushmillKafka
import PushmillStages

/// Outputs that cannot be sent to one destination right away, in order: those that came back, and those behind them.
/// The first that comes back stops the destination until everything sent there is answered; then all are sent again in
/// order. A suspect, an output of a batch of which brokers refused at least one, is sent alone: only the poison record
/// becomes a dead letter, and no output overtakes another.
struct OutputRetry<Output: Sendable> {
    enum State: Equatable {
        case idle
        /// Nothing is sent until everything that was sent is answered.
        case collecting
        /// Held outputs are sent from that time on.
        case resending(from: Instant)
        /// A suspect is in flight, and nothing else.
        case alone(tag: UInt64)
    }

    struct Held {
        let tag: UInt64
        let output: Output
        let isSuspect: Bool
    }

    private(set) var state = State.idle
    /// Sent and not answered.
    private(set) var outstanding = 0
    private var returned: [(sequence: UInt64, held: Held)] = []
    private var held: [Held] = []
    private var first = 0
    /// How long to wait before sending again; set if outputs came back because brokers or their topic were unavailable.
    private var pause = Duration.zero

    /// Outputs may be published right away.
    var isIdle: Bool { state == .idle }

    mutating func published() { outstanding += 1 }

    /// The output waits behind those that are held already.
    mutating func hold(_ output: Output, tag: UInt64, isSuspect: Bool = false, now: Instant) {
        held.append(Held(tag: tag, output: output, isSuspect: isSuspect))
        if state == .idle { state = .resending(from: now) }
    }

    enum Answer: Equatable {
        case done
        /// It waits to be sent again.
        case again
        /// Sent alone, and refused: a poison record.
        case poison
    }

    /// Takes the report of an output that was sent.
    mutating func answered(
        _ tag: UInt64, _ failure: OutputReport<Output>.Failure?, _ output: Output?, sequence: UInt64
    ) -> Answer {
        outstanding -= 1
        let wasAlone = state == .alone(tag: tag)
        if wasAlone { state = first == held.count ? .idle : .resending(from: .past) }
        guard let failure else { return .done }
        let isSuspect: Bool
        switch failure {
        case .refused:
            if wasAlone || PlantedFault.isPlanted(.wholeBatchDeadLettered) {
                state = .collecting
                return .poison
            }
            isSuspect = true
        case .unavailable:
            isSuspect = wasAlone
            pause = .milliseconds(100)
        case .purged: isSuspect = wasAlone
        }
        if let output {
            returned.append((sequence, Held(tag: tag, output: output, isSuspect: isSuspect)))
        }
        state = .collecting
        return .again
    }

    var isCollected: Bool { state == .collecting && outstanding == 0 }

    /// Once everything sent is answered, what came back goes first, in the order in which it was sent.
    mutating func collected(now: Instant) {
        guard isCollected else { return }
        returned.sort { $0.sequence < $1.sequence }
        held = returned.map(\.held) + held[first...]
        first = 0
        returned.removeAll()
        state = held.isEmpty ? .idle : .resending(from: now + pause)
        pause = .zero
    }

    /// The next output, if it may be sent now: the caller calls `sent`, `stays` or `skipped` before asking again.
    func next(now: Instant) -> Held? {
        guard let time = resendsAt, time <= now else { return nil }
        return held[first]
    }

    /// When the next output may be sent; nil if there is none, or a report must come first.
    var resendsAt: Instant? {
        // A suspect is sent only if nothing else is in flight.
        guard case .resending(let from) = state, first < held.count, !held[first].isSuspect || outstanding == 0
        else { return nil }
        return from
    }

    /// The next was sent.
    mutating func sent() {
        let sent = held[first]
        outstanding += 1
        drop()
        if sent.isSuspect {
            state = .alone(tag: sent.tag)
        } else if first == held.count {
            state = .idle
        }
    }

    /// The producer does not take the next output for now.
    mutating func stays(until time: Instant) { state = .resending(from: time) }

    /// The next output is dropped.
    mutating func skipped() {
        drop()
        if first == held.count { state = .idle }
    }

    private mutating func drop() {
        first += 1
        // Outputs may be a megabyte each: none is kept once all have been sent.
        if first == held.count || first > 64 && first * 2 > held.count {
            held.removeFirst(first)
            first = 0
        }
    }
}

/// One retry for each destination: the destinations do not wait for each other.
struct OutputRetries<Output: Sendable> {
    var outputs = OutputRetry<Output>()
    var letters = OutputRetry<Output>()

    subscript(isLetter: Bool) -> OutputRetry<Output> {
        @inline(__always) _read { if isLetter { yield letters } else { yield outputs } }
        @inline(__always) _modify { if isLetter { yield &letters } else { yield &outputs } }
    }

    /// Not by the subscript, which allocates memory for the access.
    func isIdle(_ isLetter: Bool) -> Bool { isLetter ? letters.isIdle : outputs.isIdle }

    mutating func published(_ isLetter: Bool) { if isLetter { letters.published() } else { outputs.published() } }

    var outstanding: Int { outputs.outstanding + letters.outstanding }
}
