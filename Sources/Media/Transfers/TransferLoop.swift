import CPushmillCurl
import PushmillStages

/// All transfers, on one thread.
final class TransferLoop {
    /// Looks for stalled exchanges per `Reach.patience`: a stall is noticed at most a third of that time late.
    private static let looks = 3

    private let means: Means
    private let multiplexer: Multiplexer
    private let report: @Sendable (Fetch, FetchResult) -> Void
    private var transfers: [ObjectIdentifier: Transfer] = [:]
    private var gate = NameGate<Exchange>()
    private var shares = HostShares<Exchange>(connections: Multiplexer.connections)
    /// Exchanges that ask for their servers' addresses.
    private var asking: [Exchange] = []
    /// Fetches that are to begin again, the earliest last.
    private var waiting: [(time: Instant, fetch: Fetch)] = []
    /// When to look again for exchanges that receive nothing.
    private var nextLook = Instant.never

    /// `report` is called on this thread or, for media that was kept, on another one.
    init(_ means: Means, _ multiplexer: Multiplexer, report: @escaping @Sendable (Fetch, FetchResult) -> Void) {
        self.means = means
        self.multiplexer = multiplexer
        self.report = report
    }

    deinit {
        for transfer in transfers.values { detach(transfer) }
    }

    func start(_ fetch: Fetch) {
        let transfer = Transfer(fetch, means)
        transfers[ObjectIdentifier(fetch)] = transfer
        take(transfer.begin(), of: transfer)
    }

    func cancel(_ fetch: Fetch) {
        guard let transfer = transfers.removeValue(forKey: ObjectIdentifier(fetch)) else { return }
        detach(transfer)
        transfer.drop()
    }

    /// Lets everything go on that can; waits if nothing can.
    func turn() {
        openGate()
        while let next = shares.next(isWanted: isWanted) { connect(next) }
        multiplexer.wait(until: min(waiting.last?.time ?? .never, nextLook))
        while let (exchange, code) = multiplexer.nextEnded() {
            multiplexer.remove(exchange)
            if exchange.progress == .needsAddress {
                if gate.admit(exchange, to: exchange.server) { ask(exchange) }
                continue
            }
            giveBackConnection(of: exchange)
            guard isWanted(exchange) else { continue }
            take(exchange.owner.ended(code, now: TimeSource.system.now), of: exchange.owner)
        }
        let now = TimeSource.system.now
        if nextLook <= now { endQuiet(now) }
        while let next = waiting.last, next.time <= now {
            waiting.removeLast()
            // The fetch may have been canceled.
            guard let transfer = transfers[ObjectIdentifier(next.fetch)] else { continue }
            take(transfer.begin(), of: transfer)
        }
    }

    /// Ends exchanges that received nothing for as long as `patience`; those without an address have a limit of their
    /// own. Needs one look more than `looks`, because bytes may have come just before the first.
    private func endQuiet(_ now: Instant) {
        nextLook = .never
        for transfer in Array(transfers.values) {
            guard let exchange = transfer.exchange, exchange.hasServer else { continue }
            exchange.quietLooks += 1
            guard exchange.quietLooks > Self.looks else { continue }
            multiplexer.remove(exchange)
            giveBackConnection(of: exchange)
            take(transfer.ended(CURLE_OPERATION_TIMEDOUT, now: now), of: transfer)
        }
        if !transfers.isEmpty { nextLook = now + pause }
    }

    /// Time between two looks.
    private var pause: Duration { means.reach.patience / Self.looks }

    private func take(_ step: Transfer.Step, of transfer: Transfer) {
        switch step {
        case .exchange(let exchange):
            if nextLook == .never { nextLook = TimeSource.system.now + pause }
            if shares.admit(exchange, to: exchange.server) { connect(exchange) }
        case .wait(let time):
            let index = waiting.firstIndex { $0.time <= time } ?? waiting.endIndex
            waiting.insert((time, transfer.fetch), at: index)
        case .keep(let finished): keep(finished, for: end(transfer))
        case .failed(let failure): report(end(transfer), .failure(failure))
        }
    }

    private func connect(_ exchange: Exchange) {
        exchange.hasShare = true
        multiplexer.add(exchange)
    }

    private func giveBackConnection(of exchange: Exchange) {
        guard exchange.hasShare else { return }
        exchange.hasShare = false
        shares.ended(exchange.server)
    }

    private func ask(_ exchange: Exchange) {
        asking.append(exchange)
        begin(exchange, mayAsk: true)
    }

    private func begin(_ exchange: Exchange, mayAsk: Bool) {
        exchange.renew(mayAsk: mayAsk)
        multiplexer.add(exchange)
    }

    /// Lets exchanges go on that waited for an address that has been found, or for their turn to ask.
    private func openGate() {
        for exchange in asking where exchange.hasServer || !isWanted(exchange) {
            asking.removeAll { $0 === exchange }
            if exchange.progress == .hasAddress {
                for exchange in gate.found(exchange.server) where isWanted(exchange) { begin(exchange, mayAsk: false) }
            } else {
                gate.ended(exchange.server)
            }
        }
        while let next = gate.next(isWanted: isWanted) { ask(next) }
    }

    /// False if the exchange was canceled or has ended.
    private func isWanted(_ exchange: Exchange) -> Bool { exchange.owner.exchange === exchange }

    private func keep(_ finished: Download.Finished, for fetch: Fetch) {
        guard let file = finished.file, let folder = means.folder else {
            return report(fetch, .success(finished.media))
        }
        folder.keep(file, as: finished.media) { [means, report] failure in
            report(fetch, failure.map { .failure(means.failure($0)) } ?? .success(finished.media))
        }
    }

    private func end(_ transfer: Transfer) -> Fetch {
        transfers[ObjectIdentifier(transfer.fetch)] = nil
        transfer.drop()
        return transfer.fetch
    }

    private func detach(_ transfer: Transfer) {
        guard let exchange = transfer.exchange.take() else { return }
        multiplexer.remove(exchange)
        giveBackConnection(of: exchange)
    }
}

/// What every transfer uses.
struct Means: Sendable {
    let settings: MediaSettings
    let reach: Reach
    /// Nil if nothing is kept.
    let folder: MediaFolder?
    let log: @Sendable (StageResources.Severity, String) -> Void

    /// Logs problems of the disk, which an operator has to solve.
    func failure(_ error: any Error) -> MediaFailure {
        if let failure = error as? MediaFailure { return failure }
        log(.error, "cannot keep media: \(error)")
        return .storage
    }
}
