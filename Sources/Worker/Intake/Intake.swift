import Engine
import Kafka
import Push
import Telemetry

/// What the polling thread does with records: enters them in the flow while there is room, and hands them to their lanes.
struct Intake {
    private let flow: Flow
    private let lanes: [Mailbox<LaneMessage>]
    private let ordering: Ordering
    /// Where what is done must fit into the commit, whole.
    private let metadataLimit: Int
    /// More than one record can add.
    private static let metadataMargin = 64
    private let metrics: ServiceMetrics
    private let log: Log
    private let nameOf: (UInt32) -> String

    var served: ServedPartitions
    private var consumed: [Counter] = []
    /// Fetched; those before `first` are entered.
    private var pending: [Record] = []
    private var first = 0
    private var outgoing: [[LaneItem]]
    private var nextLane = 0
    /// Partitions whose window is full: where they go on when it has moved.
    private var stalled: [TopicPartition: Int64] = [:]
    private var untold: [TopicPartition] = []

    init(
        flow: Flow, lanes: [Mailbox<LaneMessage>], settings: WorkerSettings, metrics: ServiceMetrics,
        log: Log, nameOf: @escaping (UInt32) -> String
    ) {
        self.flow = flow
        self.lanes = lanes
        ordering = settings.ordering
        metadataLimit = settings.isTransactional ? OffsetMetadata.limit - Self.metadataMargin : .max
        self.metrics = metrics
        self.log = log
        self.nameOf = nameOf
        served = ServedPartitions(nameOf: nameOf)
        outgoing = Array(repeating: [], count: lanes.count)
    }

    func slots(of places: [TopicPartition]) -> [PartitionSlot] { places.compactMap { served[$0]?.slot } }

    // MARK: Partitions

    mutating func serve(_ start: PartitionStart) {
        let ledger = OffsetLedger(startingAt: start.offset, completed: start.completed)
        served[start.place] = ServedPartitions.Served(
            slot: flow.open(start.place, ledger: ledger, isPositionKnown: start.offset >= 0),
            paused: metrics.paused(start.place.partition, of: start.place.topic))
    }

    /// Takes nothing more of them.
    mutating func drain(_ places: [TopicPartition]) {
        flow.drain(slots(of: places))
        dropPending(of: places)
    }

    /// What is unfinished of them is given up, and what ends late does not count.
    func fence(_ places: [TopicPartition]) {
        let gone = slots(of: places)
        flow.fence(gone)
        for lane in lanes { lane.post(.giveUp(gone)) }
    }

    /// They belong to somebody else.
    mutating func end(_ places: [TopicPartition]) {
        fence(places)
        flow.end(slots(of: places))
        for place in places {
            served[place] = nil
            stalled[place] = nil
            metrics.remove(partition: place.partition, of: place.topic)
        }
        dropPending(of: places)
    }

    /// What was fetched of them is forgotten.
    mutating func dropPending(of places: [TopicPartition]) {
        var kept: [Record] = []
        for record in pending[first...] {
            if places.contains(served.place(of: record)) { record.destroy() } else { kept.append(record) }
        }
        pending = kept
        first = 0
    }

    // MARK: Full windows

    func isStalled(_ place: TopicPartition) -> Bool { stalled[place] != nil }

    /// Those stalled since this was last asked, and where.
    mutating func newlyStalled() -> [(TopicPartition, Int64)] {
        guard !untold.isEmpty else { return [] }
        defer { untold.removeAll() }
        return untold.compactMap { place in stalled[place].map { (place, $0) } }
    }

    /// Those whose window has moved: they are to be read again from there.
    func movedStalls() -> [Position] {
        guard !stalled.isEmpty else { return [] }
        return stalled.compactMap { place, offset in
            guard let slot = served[place]?.slot, flow.hasMoved(slot, for: offset, metadataLimit: metadataLimit)
            else { return nil }
            return Position(place, offset: offset)
        }
    }

    mutating func endStalls(of places: [TopicPartition]) { for place in places { stalled[place] = nil } }

    // MARK: Records

    /// Records are waiting for room: no more may be received.
    var isBlocked: Bool { first < pending.count }

    mutating func receive(_ records: [Record]) {
        pending.removeFirst(first)
        first = 0
        pending.append(contentsOf: records)
    }

    /// Hands on what there is room for; the rest stays.
    mutating func admit(_ now: Instant) {
        while isBlocked {
            let before = first
            let end = enterRun(now)
            for lane in lanes.indices where !outgoing[lane].isEmpty {
                lanes[lane].post(.items(outgoing[lane]))
                outgoing[lane] = []
            }
            count(from: before)
            switch end {
            case .all: break
            case .noRoom: return
            case .rewound: restart()
            case .windowFull: stall()
            }
        }
    }

    private enum RunEnd { case all, noRoom, rewound, windowFull }

    /// Enters records until one needs more than that; the lock is taken once for all of them.
    private mutating func enterRun(_ now: Instant) -> RunEnd {
        flow.withState { state in
            while first < pending.count {
                let record = pending[first]
                guard let slot = served.slot(of: record), let isDraining = state.partitions[slot.index]?.isDraining,
                    !isDraining
                else {
                    record.destroy()
                    first += 1
                    continue
                }
                guard state.table.hasRoom(for: record.byteCount) else { return .noRoom }
                if metadataLimit < .max, let partition = state.partitions[slot.index],
                    partition.ledger.inFlight > 0, partition.ledger.metadataSizeBound > metadataLimit
                {
                    return .windowFull
                }
                switch state.partitions[slot.index]?.ledger.take(record.offset) {
                case .taken:
                    let delivery = InFlightTable.Delivery(
                        slot: slot, offset: record.offset, byteCount: record.byteCount)
                    guard let ticket = state.table.insert(delivery) else { return .noRoom }
                    route(record, ticket, slot, now)
                case .completed, nil: record.destroy()
                case .duplicate, .rewound: return .rewound
                case .full: return .windowFull
                }
                first += 1
            }
            return .all
        }
    }

    private mutating func route(_ record: Record, _ ticket: InFlightTable.Ticket, _ slot: PartitionSlot, _ now: Instant)
    {
        let key = ordering.key(recipient: record.headers?.last("recipient") ?? record.key, slot: slot)
        let lane: Int
        if let key {
            lane = key.lane(of: lanes.count)
        } else {
            nextLane = nextLane + 1 < lanes.count ? nextLane + 1 : 0
            lane = nextLane
        }
        outgoing[lane].append(LaneItem(record: record, ticket: ticket, slot: slot, key: key, taken: now))
    }

    /// Counts those handed on by the run that began there, in runs of one topic.
    private mutating func count(from start: Int) {
        var index = start
        while index < first {
            let topic = pending[index].topic
            var end = index
            while end < first, pending[end].topic == topic { end += 1 }
            while consumed.count <= Int(topic) {
                let name = nameOf(UInt32(consumed.count))
                consumed.append(metrics.consumed(topic: name))
            }
            consumed[Int(topic)].add(end - index)
            index = end
        }
    }

    /// The log begins anew below what was taken: the topic was made anew, or an operator cut it.
    private mutating func restart() {
        let record = pending[first]
        let place = served.place(of: record)
        guard let former = served[place] else { return }
        log.warning(
            "the offsets of a partition have gone back: the topic was made anew or cut; going on from there",
            [.topic(place.topic), .partition(place.partition), .offset(record.offset)])
        // What is unfinished of the old log goes on: nobody could read it again.
        flow.forget(former.slot)
        serve(PartitionStart(place, offset: record.offset))
    }

    private mutating func stall() {
        let record = pending[first]
        let place = served.place(of: record)
        stalled[place] = record.offset
        untold.append(place)
        dropPending(of: [place])
    }
}
