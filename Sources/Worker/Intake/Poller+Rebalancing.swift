import Kafka
import Push
import Telemetry

/// What the group asks, and what comes of it.
extension Poller {
    func answer(_ event: RebalanceEvent) {
        let now = ContinuousClock.now
        switch event {
        case .assign(let places):
            status.joined()
            metrics.partitionsAssigned.add(places.count)
            log.info("partitions assigned", [.count(places.count), .partitions(places.summary)])
            perform(rebalances.assigned(places, now: now))
        case .revoke(let places):
            metrics.partitionsRevoked.add(places.count)
            log.info("partitions revoked: finishing them", [.count(places.count), .partitions(places.summary)])
            let bound = shutdown.drainBound(settings.drain, now: now)
            perform(rebalances.revoked(places, bound: bound, now: now))
        case .lose(let places):
            metrics.partitionsLost.add(places.count)
            log.warning(
                "partitions lost: what is unfinished of them is dropped",
                [.count(places.count), .partitions(places.summary)])
            intake.fence(places)
            flow.noteLoss()
            perform(rebalances.lost(places))
        case .failed(let error):
            log.error("a rebalance failed", [.error(error)])
        }
    }

    func handle(_ message: PollerMessage) {
        let now = ContinuousClock.now
        switch message {
        case .positionsRead(let places, let number, let starts):
            startsAwaited -= 1
            let wanted = Set(rebalances.positionsRead(of: places, number: number))
            start(starts.filter { wanted.contains($0.place) })
            perform(rebalances.next(now: now))
        case .commitEnded(let outcome, let attempt):
            perform(rebalances.commitEnded(outcome, attempt: attempt, now: now))
        case .lastCommitEnded(let outcome):
            perform(shutdown.commitEnded(outcome, now: now))
        case .rewind: rewind()
        case .restored(let partition, let number): restored(partition, number: number)
        case .cannotGoOn(let error):
            status.fail(error)
            guard !isLeaving else { return }
            if shutdown.isRunning { perform(shutdown.terminate(now: now)) }
            perform(shutdown.terminate(now: now))
        case .room: break
        case .terminate:
            perform(shutdown.terminate(now: now))
        }
    }

    private func start(_ starts: [PartitionStart]) {
        let places = starts.map(\.place)
        if !isRestoring { for start in starts { intake.serve(start) } }
        // They may have gone while they were paused.
        consumer.resume(places)
        tell { () throws(KafkaError) in
            try self.consumer.assign(starts.map { Position($0.place, offset: $0.offset) })
        }
        guard shutdown.isRunning else {
            intake.drain(places)
            return consumer.pause(places)
        }
        if isRestoring { return restore(starts) }
        if !paused.isEmpty { hold(places) }
        log.info("partitions are read", [.count(starts.count), .partitions(places.summary)])
    }

    func perform(_ action: DrainMachine<TopicPartition, ContinuousClock.Instant>.Action) {
        switch action {
        case .none: break
        case .assign(let places, let number):
            startsAwaited += 1
            committer.post(.read(places, number: number))
        case .drain(let places):
            intake.drain(places)
        case .commit(let places, let attempt, let abandoning):
            if abandoning {
                log.warning(
                    "the drain has taken too long: what is unfinished is left to the next owner",
                    [.count(flow.unfinished(intake.slots(of: places)))])
                intake.fence(places)
            }
            if let transactions {
                transactions.post(.commit(attempt: attempt))
            } else {
                committer.post(.commit(intake.slots(of: places), attempt: attempt))
            }
        case .unassign(let places, let unstarted):
            intake.end(places)
            forget(places)
            tell { () throws(KafkaError) in
                if !unstarted.isEmpty {
                    try self.consumer.assign(unstarted.map { Position($0, offset: Position.stored) })
                }
                try self.consumer.unassign(places)
            }
            log.info("partitions given back", [.count(places.count), .partitions(places.summary)])
            perform(rebalances.next(now: ContinuousClock.now))
        }
    }

    private func tell(_ change: () throws(KafkaError) -> Void) {
        do throws(KafkaError) {
            try change()
        } catch {
            log.error("the assignment could not be changed", [.error(error)])
        }
    }

    func perform(_ action: ShutdownMachine<ContinuousClock.Instant>.Action) {
        switch action {
        case .none: break
        case .stopIntake:
            log.info("ending: intake stops, what is in flight is finished", [.count(flow.inFlight.count)])
            status.ending()
            intake.drain(intake.served.places)
            consumer.pause(intake.served.places)
            perform(shutdown.intakeStopped(unfinished: unfinished, unacknowledged: flow.inFlight.count))
        case .flush(let abandoning):
            guard abandoning else { return }
            log.warning(
                "the time to finish is over: what is unfinished is left to the next owner",
                [.count(flow.inFlight.count)])
            intake.fence(intake.served.places)
        case .commit:
            if let transactions { transactions.post(.commitAll) } else { committer.post(.commitAll) }
        case .leave:
            committer.post(.stop)
            isLeaving = true
        case .exit:
            hasEnded = true
        }
    }

    /// Messages that have not left their lanes.
    private var unfinished: Int { max(0, flow.inFlight.count - outputs.waiting) }

    /// Whatever is due by the clock, or has become possible.
    func keepTime() {
        readReturning()
        let leaving = rebalances.leaving
        if !leaving.isEmpty, flow.unfinished(intake.slots(of: leaving)) == 0 {
            perform(rebalances.drained(now: ContinuousClock.now))
        }
        if let deadline = rebalances.deadline, deadline <= ContinuousClock.now {
            perform(rebalances.hitDeadline(now: ContinuousClock.now))
        }
        guard !shutdown.isRunning, !isLeaving else { return }
        perform(shutdown.progress(unfinished: unfinished, unacknowledged: flow.inFlight.count))
        if let deadline = shutdown.deadline, deadline <= ContinuousClock.now {
            perform(shutdown.hitDeadline(now: ContinuousClock.now))
        }
    }
}

extension [TopicPartition] {
    /// `topic/0-3,7`: many partitions in one field.
    var summary: String {
        Dictionary(grouping: self, by: \.topic).sorted { $0.key < $1.key }.map { topic, places in
            var ranges: [(first: Int32, last: Int32)] = []
            for partition in places.map(\.partition).sorted() {
                if let last = ranges.indices.last, ranges[last].last &+ 1 == partition {
                    ranges[last].last = partition
                } else {
                    ranges.append((partition, partition))
                }
            }
            let text = ranges.map { $0.first == $0.last ? "\($0.first)" : "\($0.first)-\($0.last)" }
            return "\(topic)/\(text.joined(separator: ","))"
        }.joined(separator: " ")
    }
}
