/// Follows one partition's log and reads what is committed.
package final class LogReader: LogWatcher {
    package enum Delivery {
        case records([PartitionLog.Entry])
        /// Everything before the offset was read. `isWhole` is false if an open transaction lies before the log's end.
        case end(Int64, isWhole: Bool)
        /// The log does not hold the offset that was to be read. Nothing more is delivered.
        case outOfLog
    }

    package let log: PartitionLog
    package private(set) var next: Int64 = 0
    package private(set) var isRunning = false
    /// Grows with each start and stop, which makes earlier requests void.
    package private(set) var version = 0
    private var isAsking = false
    private var isStale = false
    private var told: (offset: Int64, isWhole: Bool) = (-1, false)
    private let node: Node
    private let connection: Connection
    private let batch: Int
    private let tellsEnds: Bool
    private let hasRoom: () -> Bool
    private let deliver: (LogReader, Delivery) -> Void

    package init(
        _ log: PartitionLog, node: Node, connection: Connection, batch: Int = 16, tellsEnds: Bool,
        hasRoom: @escaping () -> Bool = { true }, deliver: @escaping (LogReader, Delivery) -> Void
    ) {
        self.log = log
        self.node = node
        self.connection = connection
        self.batch = batch
        self.tellsEnds = tellsEnds
        self.hasRoom = hasRoom
        self.deliver = deliver
    }

    /// Reads from that offset on; -2 is the log's start, -1 its end.
    package func start(at offset: Int64) {
        stop()
        next = offset
        told = (-1, false)
        isRunning = true
        log.watch(self)
        ask()
    }

    package func stop() {
        version += 1
        isRunning = false
        isAsking = false
        isStale = false
        log.unwatch(self)
    }

    /// Called when there is room again.
    package func goOn() { if isRunning, isStale, !isAsking { ask() } }

    package func logChanged(_ log: PartitionLog) {
        guard isRunning else { return }
        guard !isAsking else { return isStale = true }
        ask()
    }

    private func ask() {
        guard hasRoom() else { return isStale = true }
        isAsking = true
        isStale = false
        let version = version
        // A frozen process sends no request.
        node.after(20_000) { [weak self] in
            guard let self, self.version == version else { return }
            send(version)
        }
    }

    private func send(_ version: Int) {
        let (log, next, batch) = (log, next, batch)
        connection.request(patience: .milliseconds(600)) { cluster -> Answer? in
            guard !log.isLeaderAway else { return nil }
            let start = next == -2 ? log.start : next == -1 ? log.lastStable : next
            let isDenied = start > log.start && cluster.timeline.now < log.deniesUntil
            guard (log.start...log.end).contains(start), !isDenied else { return .outOfLog }
            let (records, after) = log.read(from: start, limit: batch)
            return .records(records, next: after, stable: log.lastStable, end: log.end)
        } _: { [weak self] answer in
            guard let self, self.version == version else { return }
            take(answer)
        }
    }

    private enum Answer {
        case records([PartitionLog.Entry], next: Int64, stable: Int64, end: Int64)
        case outOfLog
    }

    private func take(_ answer: Answer?) {
        isAsking = false
        switch answer {
        case nil:
            let version = version
            node.after(.milliseconds(50)) { [weak self] in
                guard let self, self.version == version, isRunning, !isAsking else { return }
                // If the leader is unavailable, `logChanged` reports its return.
                if !log.isLeaderAway { ask() }
            }
        case .outOfLog:
            stop()
            deliver(self, .outOfLog)
        case .records(let records, let next, let stable, let end):
            let version = version
            self.next = next
            if !records.isEmpty { deliver(self, .records(records)) }
            guard self.version == version, isRunning else { return }
            if next >= stable {
                if tellsEnds, told != (next, stable == end) {
                    told = (next, stable == end)
                    deliver(self, .end(next, isWhole: stable == end))
                }
                if isStale, self.version == version { ask() }
            } else {
                ask()
            }
        }
    }
}
