import PushmillEngine

/// A record that a producer was given to send.
package struct Outgoing {
    package let tag: UInt64
    package let record: NewRecord
    package let output: SimulatedOutput?
}

/// An idempotent producer with librdkafka's gapless guarantee. Several batches of a partition are in flight at once; a
/// batch without an answer is sent again under its sequence number. A batch that is refused for good fails the producer
/// unless there is a transaction to abort.
package final class ProducerClient {
    package enum Fate { case stored(Int64), refused(Refusal), purged }

    private struct Flight {
        let sequence: Int32
        let epoch: Int16
        let outgoing: [Outgoing]
        /// Its request is in flight.
        var isAsked = true
    }

    private final class Lane {
        let log: PartitionLog
        let connection: Connection
        var queue: [Outgoing] = []
        var flights: [Flight] = []
        var sequence: Int32 = 0
        var isLingering = false
        var isBackingOff = false
        /// Makes a planned resend void: its batches may have been purged.
        var attempt = 0
        var isInTransaction = false
        /// The first failure since a batch was last stored.
        var stuckSince: UInt64?
        /// Nothing of it is sent or reported any more.
        var isLost = false

        init(_ log: PartitionLog, _ node: Node) {
            self.log = log
            connection = Connection(node)
        }
    }

    package static let queueLimit = 400
    private static let flightLimit = 5

    private let node: Node
    /// Nil for a producer without transactions.
    let transactionalName: String?
    private(set) var producer: Int32
    private(set) var epoch: Int16 = 0
    package private(set) var hasFailed = false
    /// Why a record of the open transaction was refused.
    package private(set) var refusedInTransaction: Refusal?
    /// The number of records queued and in flight.
    package private(set) var outstanding = 0
    package private(set) var inFlight = 0
    var isInTransaction = false
    var hasOffsets = false
    /// The next partition to which something is sent in a transaction is lost.
    package var losesNext = false
    /// Some records are never reported.
    private(set) var hasLost = false
    private var lanes: [Lane] = []
    private let settled: (Outgoing, Fate) -> Void
    private var isGone = false

    package init(_ node: Node, transactionalName: String?, settled: @escaping (Outgoing, Fate) -> Void) {
        self.node = node
        self.transactionalName = transactionalName
        self.settled = settled
        producer = transactionalName == nil ? node.cluster.newProducer() : -1
    }

    /// Another producer takes this one's place. Requests in flight still arrive.
    package func abandon() { isGone = true }

    func adopt(producer: Int32, epoch: Int16) {
        self.producer = producer
        self.epoch = epoch
        for lane in lanes { lane.sequence = 0 }
    }

    func fail() { hasFailed = true }

    func beginTransaction() {
        isInTransaction = true
        hasOffsets = false
        refusedInTransaction = nil
        for lane in lanes { (lane.isInTransaction, lane.stuckSince) = (false, nil) }
    }

    var hasWrittenInTransaction: Bool { hasOffsets || lanes.contains { $0.isInTransaction } }

    /// False if there is no room.
    package func send(_ outgoing: Outgoing, to log: PartitionLog) -> Bool {
        guard outstanding < Self.queueLimit else { return false }
        outstanding += 1
        let lane = lane(of: log)
        lane.queue.append(outgoing)
        linger(lane)
        return true
    }

    private func lane(of log: PartitionLog) -> Lane {
        if let known = lanes.first(where: { $0.log === log }) { return known }
        let lane = Lane(log, node)
        lanes.append(lane)
        return lane
    }

    private func linger(_ lane: Lane) {
        guard !lane.isLingering else { return }
        lane.isLingering = true
        node.after(node.timeline.dice.between(.microseconds(50)...(.milliseconds(3)))) { [weak self] in
            lane.isLingering = false
            self?.pump(lane)
        }
    }

    /// As librdkafka 2.0.2 does with a partition that its topic loses for a moment: what is in flight of it within a
    /// transaction is neither sent again nor reported.
    private func lose(_ lost: Lane) {
        (losesNext, hasLost, lost.isLost) = (false, true, true)
        lanes.removeAll { $0 === lost }
        let lane = lane(of: lost.log)
        (lane.sequence, lane.isInTransaction) = (lost.sequence, true)
    }

    package func flush() { for lane in lanes { pump(lane) } }

    private func pump(_ lane: Lane) {
        guard !isGone, !hasFailed, !lane.isLost, !lane.isBackingOff, refusedInTransaction == nil else { return }
        while !lane.queue.isEmpty, lane.flights.count < Self.flightLimit {
            let count = min(lane.queue.count, node.timeline.dice.between(1...8))
            let flight = Flight(sequence: lane.sequence, epoch: epoch, outgoing: Array(lane.queue.prefix(count)))
            lane.queue.removeFirst(count)
            lane.sequence += Int32(count)
            lane.flights.append(flight)
            inFlight += count
            ask(lane, flight)
            if losesNext, isInTransaction { return lose(lane) }
        }
    }

    private func ask(_ lane: Lane, _ flight: Flight) {
        var batch = Batch(
            flight.outgoing.map(\.record), producer: producer, epoch: flight.epoch, sequence: flight.sequence)
        batch.isTransactional = transactionalName != nil
        let (log, name) = (lane.log, transactionalName)
        if name != nil { lane.isInTransaction = true }
        lane.connection.request(patience: .milliseconds(400)) { cluster -> AppendAnswer? in
            guard !log.isLeaderAway else { return nil }
            guard let name else { return log.append(batch) }
            switch cluster.transactions.add(log, to: name, epoch: batch.epoch) {
            case .done: return cluster.transactions.append(batch, to: log, of: name)
            case .fenced: return .refused(.fenced)
            case .concurrent: return .refused(.concurrentTransaction)
            case .invalidState: return .refused(.noTransaction)
            }
        } _: { [weak self] answer in
            guard let self, !isGone, !lane.isLost else { return }
            answered(answer, lane, flight)
        }
    }

    private func answered(_ answer: AppendAnswer?, _ lane: Lane, _ flight: Flight) {
        // Purged in the meantime.
        guard
            let index = lane.flights.firstIndex(where: { $0.sequence == flight.sequence && $0.epoch == flight.epoch })
        else { return }
        switch answer {
        case .stored(let base):
            lane.flights.remove(at: index)
            lane.stuckSince = nil
            inFlight -= flight.outgoing.count
            for (place, outgoing) in flight.outgoing.enumerated() {
                settle(outgoing, .stored(base < 0 ? -1 : base + Int64(place)))
            }
            sendAgainIfQuiet(lane)
            pump(lane)
        case .refused(let refusal) where refusal.isOfRecord:
            refuse(flight, at: index, of: lane, for: refusal)
        case .refused(.fenced), .refused(.noTransaction):
            // The epoch is outdated, and a fenced transactional ID gets no new one.
            failForGood(lane, index)
        case .refused(.outOfOrder) where index == 0 && !lane.isBackingOff:
            failForGood(lane, index)
        case .refused, nil:
            lane.flights[index].isAsked = false
            if hasFailed { return purgeFlight(lane, index) }
            if refusedInTransaction != nil { return }
            if isOverdue(lane) { return timeOut(lane) }
            lane.isBackingOff = true
            sendAgainIfQuiet(lane)
        }
    }

    /// Sends everything that was not stored again, in order, once all of it is answered.
    private func sendAgainIfQuiet(_ lane: Lane) {
        guard lane.isBackingOff, lane.flights.allSatisfy({ !$0.isAsked }) else { return }
        guard !lane.flights.isEmpty else { return lane.isBackingOff = false }
        for index in lane.flights.indices { lane.flights[index].isAsked = true }
        let flights = lane.flights
        lane.attempt += 1
        let attempt = lane.attempt
        node.after(node.timeline.dice.between(.milliseconds(10)...(.milliseconds(60)))) { [weak self] in
            guard let self, !isGone, !lane.isLost, lane.isBackingOff, lane.attempt == attempt else { return }
            lane.isBackingOff = false
            for flight in flights where lane.flights.contains(where: { $0.sequence == flight.sequence }) {
                ask(lane, flight)
            }
            pump(lane)
        }
    }

    private func refuse(_ flight: Flight, at index: Int, of lane: Lane, for refusal: Refusal) {
        lane.flights.remove(at: index)
        inFlight -= flight.outgoing.count
        let isOfTransaction = transactionalName != nil
        for outgoing in flight.outgoing { settle(outgoing, .refused(refusal)) }
        if isOfTransaction {
            refusedInTransaction = refusal
        } else if PlantedFault.isPlanted(.orderLostOnResend) {
            // Without the guarantee, a new epoch begins, and the following batches are sent although one is missing.
            bumpEpoch()
        } else {
            failed()
        }
    }

    /// As in librdkafka (`message.timeout.ms`, at most the transaction's timeout); at least once, it never gives up.
    private func isOverdue(_ lane: Lane) -> Bool {
        guard transactionalName != nil else { return false }
        let since = lane.stuckSince ?? node.timeline.now
        lane.stuckSince = since
        return node.timeline.now - since >= node.cluster.transactions.timeout
    }

    /// The records time out, and the transaction must be aborted.
    private func timeOut(_ lane: Lane) {
        refusedInTransaction = .timedOut
        lane.isBackingOff = false
        let lost = lane.flights.flatMap(\.outgoing)
        inFlight -= lost.count
        let all = lost + lane.queue
        (lane.flights, lane.queue) = ([], [])
        for outgoing in all { settle(outgoing, .refused(.timedOut)) }
    }

    private func failForGood(_ lane: Lane, _ index: Int) {
        purgeFlight(lane, index)
        failed()
    }

    /// Everything queued is purged. Batches in flight get their answers.
    private func failed() {
        guard !hasFailed else { return }
        hasFailed = true
        node.timeline.note(node.number, .step, -1)
        purgeQueues()
        for lane in lanes {
            for index in lane.flights.indices.reversed() where !lane.flights[index].isAsked || lane.isBackingOff {
                purgeFlight(lane, index)
            }
        }
    }

    private func purgeFlight(_ lane: Lane, _ index: Int) {
        let flight = lane.flights.remove(at: index)
        inFlight -= flight.outgoing.count
        for outgoing in flight.outgoing { settle(outgoing, .purged) }
    }

    private func purgeQueues() {
        for lane in lanes {
            let queue = lane.queue
            lane.queue = []
            for outgoing in queue { settle(outgoing, .purged) }
        }
    }

    /// True if something was in flight whose fate is unknown from then on.
    package func purge(all: Bool) -> Bool {
        purgeQueues()
        guard all, inFlight > 0 else { return false }
        for lane in lanes {
            while !lane.flights.isEmpty { purgeFlight(lane, 0) }
            lane.isBackingOff = false
        }
        // The purge leaves a gap in the sequence: later batches get a new epoch, which fences those that still arrive.
        if transactionalName == nil { bumpEpoch() }
        return true
    }

    private func bumpEpoch() {
        epoch += 1
        for lane in lanes {
            lane.sequence = 0
            lane.isBackingOff = false
            let flights = lane.flights
            lane.flights = []
            inFlight -= flights.reduce(0) { $0 + $1.outgoing.count }
            lane.queue = flights.flatMap(\.outgoing) + lane.queue
            if !lane.queue.isEmpty { linger(lane) }
        }
    }

    private func settle(_ outgoing: Outgoing, _ fate: Fate) {
        outstanding -= 1
        settled(outgoing, fate)
    }
}
