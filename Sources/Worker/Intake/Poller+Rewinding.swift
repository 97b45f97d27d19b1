import Kafka
import Telemetry

/// Partitions that cannot be read at once: counts or contacts are restored, or they go back to the last commit.
extension Poller {
    var transactions: Mailbox<Transactor.Request>? { outputs.transactions?.requests }

    /// Partitions that are assigned need something before they are read.
    var isRestoring: Bool { changelog != nil || contacts != nil }

    /// The group need not wait for that: they are assigned, and not read.
    func restore(_ starts: [PartitionStart]) {
        consumer.pause(starts.map(\.place))
        restores += 1
        let missing = [changelog != nil, contacts != nil].count { $0 }
        restoring += starts.map { Restoring(start: $0, number: restores, missing: missing) }
        let partitions = Set(starts.map(\.place.partition))
        let tell: @Sendable (Int32) -> Void = { [messages, restores] partition in
            messages.post(.restored(partition, number: restores))
        }
        changelog?.restore(Array(partitions), whenWhole: tell)
        contacts?.follow(partitions, whenWhole: tell)
    }

    func restored(_ partition: Int32, number: Int) {
        for index in restoring.indices
        where restoring[index].start.place.partition == partition && restoring[index].number == number {
            restoring[index].missing -= 1
        }
        returning += restoring.filter { $0.missing == 0 }.map(\.start)
        restoring.removeAll { $0.missing == 0 }
    }

    /// They go to others.
    func forget(_ places: [TopicPartition]) {
        restoring.removeAll { places.contains($0.start.place) }
        returning.removeAll { places.contains($0.place) }
        outputs.transactions?.trial.forget(places)
        changelog?.release(places.map(\.partition))
        // One of another input topic may need the contacts of the same number.
        let left = intake.served.places + restoring.map(\.start.place) + returning.map(\.place)
        contacts?.release(Set(places.map(\.partition)).subtracting(left.map(\.partition)))
    }

    /// Back to the last commit: what was published since then has come to nothing. Partitions that are leaving go as they
    /// were committed.
    func rewind() {
        let leaving = shutdown.isRunning ? rebalances.leaving : intake.served.places
        let places = intake.served.places
        let staying = places.filter { !leaving.contains($0) }
        returning += intake.slots(of: staying).compactMap { flow.lastCommitted($0) }
        consumer.pause(staying)
        intake.end(places)
        flow.rollBack()
        // What ends late of them is no news for the changelog.
        changelog?.release(leaving.map(\.partition))
        log.info("going back to the last commit", [.count(places.count), .partitions(places.summary)])
        transactions?.post(.rewound)
    }

    /// Reads partitions from where they go on, as soon as they can be.
    func readReturning() {
        guard !returning.isEmpty else { return }
        guard shutdown.isRunning else { return returning.removeAll() }
        // Those that are to be given back are read by others.
        let leaving = rebalances.leaving
        let ready = returning.filter { !leaving.contains($0.place) && flow.isSettled([$0.place]) }
        guard !ready.isEmpty else { return }
        let sought = Set(seek(to: ready.map { Position($0.place, offset: $0.offset) }))
        let starts = ready.filter { sought.contains($0.place) }
        let places = starts.map(\.place)
        guard !places.isEmpty else { return }
        returning.removeAll { sought.contains($0.place) }
        // From where they were read before.
        intake.dropPending(of: places)
        for start in starts { intake.serve(start) }
        letRead(places)
        log.info("partitions are read", [.count(places.count), .partitions(places.summary)])
    }
}
