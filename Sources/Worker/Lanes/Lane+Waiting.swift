import Push
import Telemetry

/// Messages that step aside: suspended in a stage, or not able to begin yet.
extension Lane {
    /// How long a message waits whose recipient's count could not be read.
    private static let retryDelay = Duration.milliseconds(100)

    /// The running task has suspended in this message.
    func stepAside(_ carrier: Carrier, in task: Task<Void, Never>) {
        hold(carrier)
        watch.add(carrier, until: carrier.delivery.deadline)
        carrier.delivery.suspended(in: task)
        arm(carrier)
    }

    func retryLater(_ carrier: Carrier) {
        hold(carrier)
        watch.add(carrier, until: .never)
        carrier.hasBegun = false
        carrier.timer = timers.insert(carrier, at: now + Self.retryDelay)
    }

    func hold(_ carrier: Carrier) {
        guard !carrier.isSuspended else { return }
        carrier.isSuspended = true
        if !carrier.holdsKey { order.hold(carrier.item?.key) }
    }

    /// A stage that may suspend or block is about to run.
    func expectWait(of carrier: Carrier) {
        watch.expect(carrier, until: carrier.delivery.deadline)
        if carrier.isSuspended { arm(carrier) }
    }

    private func arm(_ carrier: Carrier) {
        disarm(carrier)
        carrier.timer = timers.insert(carrier, at: carrier.delivery.nextWakeUp)
    }

    private func disarm(_ carrier: Carrier) {
        if let timer = carrier.timer.take() { timers.cancel(timer) }
    }

    /// A suspended message has come to the end of its chain; without a verdict it has left before.
    func resumed(_ carrier: Carrier, _ verdict: Verdict?) {
        guard let verdict else { return }
        leave(carrier, verdict)
    }

    private func leave(_ carrier: Carrier, _ verdict: Verdict?) {
        disarm(carrier)
        watch.remove(carrier)
        finish(carrier, verdict)
    }

    /// The stage may still be at it, or come to its end later: nothing more comes of it.
    func leftElsewhere(_ carrier: Carrier) {
        carrier.isOrphan = true
        disarm(carrier)
        watch.remove(carrier)
        letGo(of: carrier, carrier.delivery.badgeOperation)
    }

    func fireTimers() {
        now = time.now
        while let carrier = timers.next(dueAt: now) {
            carrier.timer = nil
            guard carrier.hasBegun else {
                beginAgain(carrier)
                continue
            }
            switch chain.timer(carrier.delivery, now: now) {
            case .ended(let verdict):
                carrier.isOrphan = true
                leave(carrier, verdict)
            case .run: runAgain(carrier)
            case .early: arm(carrier)
            case .nothing: continue
            }
        }
    }

    /// The stage has lost its message, and the chain goes on without it.
    private func runAgain(_ carrier: Carrier) {
        let task = Task.immediate { self.resumed(carrier, await self.chain.run(carrier.delivery)) }
        guard watch.contains(carrier) else { return }
        carrier.delivery.suspended(in: task)
        arm(carrier)
    }

    private func beginAgain(_ carrier: Carrier) {
        switch begin(carrier) {
        case .ended(let verdict): leave(carrier, verdict)
        case .run:
            carrier.hasBegun = true
            runAgain(carrier)
        case .notYet: retryLater(carrier)
        }
    }

    /// Their partitions are gone: unfinished messages are dropped for the next owner.
    func giveUp(_ slots: [PartitionSlot]) {
        for carrier in watch.suspended {
            guard let slot = carrier.item?.slot, slots.contains(slot) else { continue }
            if carrier.hasBegun, !chain.giveUp(carrier.delivery) { continue }
            carrier.isOrphan = carrier.hasBegun
            if let ticket = carrier.item?.ticket { publisher.abandon(ticket) }
            leave(carrier, nil)
        }
        publisher.publishHeld()
    }
}
