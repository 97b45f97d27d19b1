/// Answers rebalances in the order they came: a revocation is drained within a bound, committed and only then given
/// back; an assignment that arrives meanwhile waits its turn; lost partitions go at once, uncommitted.
///
/// The caller performs each action and reports back. After an `assign` or `unassign` it asks for the `next`.
package struct DrainMachine<Partition: Hashable & Sendable, Instant: InstantProtocol>: ~Copyable
where Instant.Duration == Duration {
    package enum Action: Equatable, Sendable {
        case none
        /// Read their committed positions, without waiting here, and report `positionsRead` with the number.
        case assign([Partition], number: Int)
        /// Take no more of them, and report `drained` when nothing of them is outstanding.
        case drain([Partition])
        /// Commit them, and report `commitEnded` with the attempt. `abandoning`: the bound came; close their slots
        /// first, so that what is unfinished is given up unpublished.
        case commit([Partition], attempt: Int, abandoning: Bool)
        /// Close their slots and give them back in one call. librdkafka refuses the whole list for one that it was
        /// never told to assign: do that first for `unstarted`.
        case unassign([Partition], unstarted: [Partition])
    }

    private enum Request {
        case assign([Partition])
        case revoke([Partition], bound: Duration)
    }

    private enum State {
        case idle
        case draining([Partition], deadline: Instant)
        /// `retryAt` is nil while an attempt is under way.
        case committing([Partition], deadline: Instant, retryAt: Instant?)
    }

    private var state: State = .idle
    private var requests: [Request] = []
    /// Handed out by `assign` and not yet given back.
    private var owned: Set<Partition> = []
    /// Those of them whose committed positions are not yet read; the number is that of the assignment.
    private var starting: [Partition: Int] = [:]
    private var assignments = 0
    private var attempts = 0
    private let commitBound: Duration
    private let retryDelay: Duration

    /// `commitBound` is what the commits of one drain may take, all attempts together.
    package init(commitBound: Duration = .seconds(2), retryDelay: Duration = .milliseconds(100)) {
        self.commitBound = commitBound
        self.retryDelay = retryDelay
    }

    /// Those being drained and committed.
    package var leaving: [Partition] {
        switch state {
        case .idle: []
        case .draining(let partitions, _), .committing(let partitions, _, _): partitions
        }
    }

    /// When to call `hitDeadline`.
    package var deadline: Instant? {
        switch state {
        case .idle: nil
        case .draining(_, let deadline): deadline
        case .committing(_, let deadline, let retryAt): min(retryAt ?? deadline, deadline)
        }
    }

    // What the group asks.

    package mutating func assigned(_ partitions: [Partition], now: Instant) -> Action {
        requests.append(.assign(partitions))
        return next(now: now)
    }

    /// `bound` runs from when its turn comes.
    package mutating func revoked(_ partitions: [Partition], bound: Duration, now: Instant) -> Action {
        requests.append(.revoke(partitions, bound: bound))
        return next(now: now)
    }

    /// Whatever was going on with them is over, and nothing of them is committed.
    package mutating func lost(_ partitions: [Partition]) -> Action {
        let gone = Set(partitions)
        let unstarted = partitions.filter { !owned.contains($0) || starting[$0] != nil }
        requests = requests.compactMap { request in
            switch request {
            case .assign(let waiting):
                let rest = waiting.filter { !gone.contains($0) }
                return rest.isEmpty && !waiting.isEmpty ? nil : .assign(rest)
            case .revoke(let waiting, let bound):
                let rest = waiting.filter { !gone.contains($0) }
                return rest.isEmpty ? nil : .revoke(rest, bound: bound)
            }
        }
        owned.subtract(gone)
        for partition in gone { starting[partition] = nil }
        let rest = leaving.filter { !gone.contains($0) }
        switch state {
        case .draining(_, let deadline) where !rest.isEmpty:
            state = .draining(rest, deadline: deadline)
        case .committing(_, let deadline, let retryAt) where !rest.isEmpty:
            state = .committing(rest, deadline: deadline, retryAt: retryAt)
        case .idle, .draining, .committing:
            state = .idle
        }
        return .unassign(partitions, unstarted: unstarted)
    }

    /// The next request, when none is being answered.
    package mutating func next(now: Instant) -> Action {
        while case .idle = state, !requests.isEmpty {
            switch requests.removeFirst() {
            case .assign(let partitions):
                assignments += 1
                owned.formUnion(partitions)
                for partition in partitions { starting[partition] = assignments }
                return .assign(partitions, number: assignments)
            case .revoke(let named, let bound):
                // What an earlier revocation has given back meanwhile needs no second answer.
                let partitions = named.filter(owned.contains)
                guard !partitions.isEmpty else { continue }
                let running = running(of: partitions)
                guard !running.isEmpty else { return unassign(partitions) }
                state = .draining(partitions, deadline: now.advanced(by: bound))
                return .drain(running)
            }
        }
        return .none
    }

    // What came of the actions.

    /// Those of an assignment to assign and start now, which is to be done even if they are none: the others were
    /// revoked or lost meanwhile.
    package mutating func positionsRead(of partitions: [Partition], number: Int) -> [Partition] {
        let leaving = Set(leaving)
        let wanted = partitions.filter { starting[$0] == number && !leaving.contains($0) }
        for partition in wanted { starting[partition] = nil }
        return wanted
    }

    package mutating func drained(now: Instant) -> Action {
        switch state {
        case .draining(let partitions, _):
            return commit(partitions, until: now.advanced(by: commitBound), abandoning: false)
        default:
            return .none
        }
    }

    /// An answer to another than the latest attempt changes nothing.
    package mutating func commitEnded(_ outcome: CommitOutcome, attempt: Int, now: Instant) -> Action {
        switch state {
        case .committing(let partitions, let deadline, nil) where attempt == attempts:
            guard case .retry = outcome else { return unassign(partitions) }
            state = .committing(partitions, deadline: deadline, retryAt: now.advanced(by: retryDelay))
            return .none
        default:
            return .none
        }
    }

    package mutating func hitDeadline(now: Instant) -> Action {
        switch state {
        case .draining(let partitions, let deadline) where deadline <= now:
            return commit(partitions, until: now.advanced(by: commitBound), abandoning: true)
        case .committing(let partitions, let deadline, _) where deadline <= now:
            return unassign(partitions)
        case .committing(let partitions, let deadline, let retryAt?) where retryAt <= now:
            return commit(partitions, until: deadline, abandoning: false)
        default:
            return .none
        }
    }

    private func running(of partitions: [Partition]) -> [Partition] { partitions.filter { starting[$0] == nil } }

    private mutating func commit(_ partitions: [Partition], until deadline: Instant, abandoning: Bool) -> Action {
        attempts += 1
        state = .committing(partitions, deadline: deadline, retryAt: nil)
        return .commit(running(of: partitions), attempt: attempts, abandoning: abandoning)
    }

    private mutating func unassign(_ partitions: [Partition]) -> Action {
        state = .idle
        owned.subtract(partitions)
        let unstarted = partitions.filter { starting[$0] != nil }
        for partition in unstarted { starting[partition] = nil }
        return .unassign(partitions, unstarted: unstarted)
    }
}
