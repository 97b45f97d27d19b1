import PushmillKafka
import PushmillStages

/// Shutdown: finish what is in flight, commit, leave the group, all within the grace period. Four fifths of it are for
/// finishing, which leaves time to commit what is done when the rest is given up.
struct Ending {
    enum Phase: Equatable {
        case running
        /// Nothing new is taken.
        case finishing(until: Instant)
        /// Everything is published or given up: waits until outputs are answered and counts are stored.
        case answering(until: Instant)
        /// Waits until the checkpoint of this number has ended.
        case committing(UInt32, until: Instant)
        /// Waits until a rejoin of the group, if one is under way, has ended.
        case joining(until: Instant)
        case leaving
        case ended
    }

    private static let leavePatience = Duration.seconds(2)

    var phase = Phase.running
    private let grace: Duration
    private(set) var end = Instant.never
    private var begun = Instant.past

    init(grace: Duration) { self.grace = grace }

    var isRunning: Bool { phase == .running }
    /// Nothing more is asked of the group.
    var isLeaving: Bool { phase == .leaving || phase == .ended }
    var hasEnded: Bool { phase == .ended }

    /// When the phase ends at the latest.
    var deadline: Instant {
        switch phase {
        case .running, .ended: .never
        case .finishing(let until), .answering(let until), .committing(_, let until), .joining(let until): until
        case .leaving: end
        }
    }

    mutating func begin(_ now: Instant) {
        begun = now
        end = now + grace
        phase = .finishing(until: now + grace * 16 / 20)
    }

    var answeringEnd: Instant { begun + grace * 18 / 20 }
    var committingEnd: Instant { begun + grace * 19 / 20 }

    /// A second signal: what is not committed yet is left to other members.
    mutating func hurry(_ now: Instant) {
        end = min(end, now + Self.leavePatience)
        phase = .leaving
    }

    /// How long partitions that are revoked during shutdown may drain.
    func left(_ now: Instant) -> Duration { .nanoseconds(Int64(clamping: deadline.nanoseconds(since: now))) }
}

extension Shard where Ports: ~Copyable {
    mutating func terminate() {
        switch ending.phase {
        case .running:
            ports.tell(.ending(inFlight: entries.count))
            ending.begin(now)
            replacementDue = min(replacementDue, now)
        case .finishing, .answering, .committing, .joining:
            ending.hurry(now)
            leave()
        case .leaving: ending.phase = .ended
        case .ended: break
        }
    }

    mutating func advanceEnding() {
        switch ending.phase {
        case .running, .ended: break
        case .finishing(let until):
            if entries.count == 0 {
                ending.phase = .answering(until: min(ending.answeringEnd, now + Self.storingPatience))
                advanceEnding()
            } else if now >= until {
                giveUpUnpublished()
                ending.phase = .answering(until: ending.answeringEnd)
            }
        case .answering(let until):
            if entries.count == 0, changesUnstored == 0 { return commitLast() }
            guard now >= until else { return }
            // Keeps waiting while a changelog still takes changes.
            guard changesUnstored > lateChanges, now < ending.answeringEnd else { return commitLast() }
            ending.phase = .answering(until: min(ending.answeringEnd, now + .seconds(1)))
        case .committing(let number, let until):
            guard hasCommitted(number) || now >= until else { return }
            // That commit may have left out partitions whose changelog was slow.
            if isDirty, now < until { return ending.phase = .committing(checkpoint.want(), until: until) }
            ending.phase = .joining(until: min(until, now + Self.joiningPatience))
            advanceEnding()
        case .joining(let until):
            // If a static member leaves during a rejoin, the group waits until the member's session times out.
            guard !ports.isJoining || now >= until else { return }
            ending.phase = .leaving
            leave()
        case .leaving:
            if ports.hasLeft {
                ending.phase = .ended
            } else if now >= ending.end {
                ports.tell(.notLeftInTime)
                ending.phase = .ended
            }
        }
    }

    private mutating func commitLast() {
        // A commit that was given up may have reached the group after a later one.
        if nextRecommit != .never { recommit() }
        ending.phase = .committing(checkpoint.want(), until: ending.committingEnd)
    }

    private mutating func giveUpUnpublished() {
        let count = entries.indices.count { entries[$0].state != .free && !entries[$0].isUnanswered }
        if count > 0 { ports.tell(.leftUnfinished(count)) }
        for index in partitions.indices where partitions[index].state != .gone { dropUnpublished(of: index) }
    }

    private mutating func abortLast() {
        for _ in 0..<Self.lastAborts where ports.now < ending.end {
            guard case .retry = ports.transact(.abort) else { return }
        }
    }

    private static var lastAborts: Int { 5 }
    private static var storingPatience: Duration { .seconds(5) }
    private static var joiningPatience: Duration { .seconds(5) }

    private mutating func leave() {
        // Published and not acknowledged; after a second signal, everything in flight.
        if entries.count > 0 { ports.tell(.leftUnfinished(entries.count)) }
        if !settings.isTransactional, isDirty || checkpoint.isUnderWay {
            ports.tell(
                .commitFailed(reason: ports.isJoining ? "the group is rebalancing" : "there was no time to wait"))
        } else if !settings.isTransactional, changesUnstored > 0,
            partitions.indices.contains(where: {
                partitions[$0].changes.unstored > 0 && partitions[$0].ledger.inFlight > 0
            })
        {
            ports.tell(.commitFailed(reason: "the badge changelog has not taken all counts"))
        }
        // Changes in the producer's queue would be stored after the next owner's, and count as the latest.
        if changesUnanswered > 0 { ports.purge(all: false) }
        for index in partitions.indices where partitions[index].counts != nil {
            partitions[index].writeLast()
        }
        // An open transaction would hold up the consumers of the outputs until it times out.
        if settings.isTransactional, checkpoint.isInitialized {
            abortLast()
            if partitions.indices.contains(where: { partitions[$0].isInTransaction }) {
                ports.tell(.transactionAborted(reason: "there was no time to commit it"))
            }
        }
        for index in partitions.indices where partitions[index].state != .gone { dropEntries(of: index) }
        ports.leave()
    }
}
