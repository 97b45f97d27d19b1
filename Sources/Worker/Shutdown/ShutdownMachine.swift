/// From the first SIGTERM to the end: stop intake, drain, flush, commit, leave the group. All of it within the grace, of
/// which four fifths are for draining, so that what is given up then can still be committed around.
package struct ShutdownMachine<Instant: InstantProtocol>: ~Copyable where Instant.Duration == Duration {
    package enum Action: Hashable, Sendable {
        case none
        /// Take no more records, and report `intakeStopped`.
        case stopIntake
        /// Await the answers to what was published, and go on reporting `progress`. `abandoning`: time is up; what is
        /// unfinished is given up unpublished first.
        case flush(abandoning: Bool)
        /// The last checkpoint: report `commitEnded`.
        case commit
        /// Leave the group, committing nothing more, and report `left`.
        case leave
        /// End the process, whatever still hangs.
        case exit
    }

    private struct Grace {
        let drainUntil: Instant
        let flushUntil: Instant
        let commitUntil: Instant
        var end: Instant

        init(_ grace: Duration, from now: Instant) {
            drainUntil = now.advanced(by: grace / 20 * 16)
            flushUntil = now.advanced(by: grace / 20 * 18)
            commitUntil = now.advanced(by: grace / 20 * 19)
            end = now.advanced(by: grace)
        }
    }

    private enum State {
        case running
        case stoppingIntake(Grace)
        case draining(Grace)
        case flushing(Grace)
        /// `retryAt` is nil while an attempt is under way.
        case committing(Grace, retryAt: Instant?)
        case leaving(Grace)
        case done
    }

    /// For the group to be told, when everything else is given up.
    private static var leavePatience: Duration { .seconds(2) }

    private var state: State = .running
    private let grace: Duration
    private let retryDelay: Duration

    package init(grace: Duration, retryDelay: Duration = .milliseconds(100)) {
        self.grace = grace
        self.retryDelay = retryDelay
    }

    /// False from the first signal on: what is assigned then is to be answered, and not read.
    package var isRunning: Bool {
        switch state {
        case .running: true
        case .stoppingIntake, .draining, .flushing, .committing, .leaving, .done: false
        }
    }

    /// When to call `hitDeadline`.
    package var deadline: Instant? {
        switch state {
        case .running, .done: nil
        case .stoppingIntake(let grace), .draining(let grace): grace.drainUntil
        case .flushing(let grace): grace.flushUntil
        case .committing(let grace, let retryAt): min(retryAt ?? grace.commitUntil, grace.commitUntil)
        case .leaving(let grace): grace.end
        }
    }

    /// How long partitions that are revoked now may drain, of the `usual` bound.
    package func drainBound(_ usual: Duration, now: Instant) -> Duration {
        switch state {
        case .running: usual
        case .stoppingIntake(let grace), .draining(let grace):
            max(.zero, min(usual, now.duration(to: grace.drainUntil)))
        case .flushing(let grace):
            max(.zero, min(usual, now.duration(to: grace.flushUntil)))
        case .committing, .leaving, .done: .zero
        }
    }

    /// A signal to end. The second one leaves at once, the third does not even wait for that.
    package mutating func terminate(now: Instant) -> Action {
        switch state {
        case .running:
            state = .stoppingIntake(Grace(grace, from: now))
            return .stopIntake
        case .stoppingIntake(var grace), .draining(var grace), .flushing(var grace), .committing(var grace, _):
            grace.end = min(grace.end, now.advanced(by: Self.leavePatience))
            state = .leaving(grace)
            return .leave
        case .leaving:
            state = .done
            return .exit
        case .done:
            return .none
        }
    }

    /// No record is taken any more: the counts that `progress` reports can only fall.
    package mutating func intakeStopped(unfinished: Int, unacknowledged: Int) -> Action {
        switch state {
        case .stoppingIntake(let grace):
            state = .draining(grace)
            return progress(unfinished: unfinished, unacknowledged: unacknowledged)
        default:
            return .none
        }
    }

    /// How many messages have not left their lanes, and how many of those that have are not acknowledged.
    package mutating func progress(unfinished: Int, unacknowledged: Int) -> Action {
        switch state {
        case .draining(let grace) where unfinished == 0:
            state = .flushing(grace)
            return unacknowledged > 0
                ? .flush(abandoning: false) : progress(unfinished: unfinished, unacknowledged: unacknowledged)
        case .flushing(let grace) where unacknowledged == 0:
            state = .committing(grace, retryAt: nil)
            return .commit
        default:
            return .none
        }
    }

    package mutating func commitEnded(_ outcome: CommitOutcome, now: Instant) -> Action {
        switch state {
        case .committing(let grace, nil):
            guard case .retry = outcome else {
                state = .leaving(grace)
                return .leave
            }
            state = .committing(grace, retryAt: now.advanced(by: retryDelay))
            return .none
        default:
            return .none
        }
    }

    package mutating func left() -> Action {
        switch state {
        case .leaving:
            state = .done
            return .exit
        default:
            return .none
        }
    }

    package mutating func hitDeadline(now: Instant) -> Action {
        switch state {
        case .stoppingIntake(let grace) where grace.drainUntil <= now,
            .draining(let grace) where grace.drainUntil <= now:
            state = .flushing(grace)
            return .flush(abandoning: true)
        case .flushing(let grace) where grace.flushUntil <= now:
            state = .committing(grace, retryAt: nil)
            return .commit
        case .committing(let grace, _) where grace.commitUntil <= now:
            state = .leaving(grace)
            return .leave
        case .committing(let grace, let retryAt?) where retryAt <= now:
            state = .committing(grace, retryAt: nil)
            return .commit
        case .leaving(let grace) where grace.end <= now:
            state = .done
            return .exit
        default:
            return .none
        }
    }
}
