import Synchronization

/// Who has a delivery whose stage may suspend: the stage, until it returns or the claim is seized, whichever is first.
struct Claim: ~Copyable {
    struct State {
        /// Grows with every stage begun, so that a late one is known whatever the delivery is used for by then.
        var attempt: UInt64 = 0
        var isOpen = false
        var isLost = false
        var deadline = Instant.never
        var task: Task<Void, Never>?
    }

    private let state = Mutex(State())

    /// A stage begins; gives the number by which it closes the claim.
    func open(until deadline: Instant) -> UInt64 {
        state.withLock { state in
            state.attempt += 1
            state.isOpen = true
            state.deadline = deadline
            return state.attempt
        }
    }

    /// The stage has returned. False: too late, the delivery is no longer its own.
    func close(_ attempt: UInt64) -> Bool {
        state.withLock { state in
            guard state.isOpen, state.attempt == attempt else { return false }
            state.isOpen = false
            return true
        }
    }

    /// Takes the delivery from the stage that runs and cancels its task. False if none runs.
    func seize() -> Bool { seize { _ in true } }

    /// The same, from another thread than the lane's and only from a stage whose deadline has come. The lane will not
    /// have the delivery again.
    func seizeForGood(now: Instant) -> Bool {
        seize { state in
            guard now >= state.deadline else { return false }
            state.isLost = true
            return true
        }
    }

    private func seize(_ condition: (inout State) -> Bool) -> Bool {
        let (isSeized, task) = state.withLock { state -> (Bool, Task<Void, Never>?) in
            guard state.isOpen, condition(&state) else { return (false, nil) }
            state.isOpen = false
            return (true, state.task.take())
        }
        task?.cancel()
        return isSeized
    }

    /// The task to cancel when the delivery is taken from its stage; at once if it has been already.
    func setTask(_ task: Task<Void, Never>) {
        let isLost = state.withLock { state in
            if !state.isLost { state.task = task }
            return state.isLost
        }
        if isLost { task.cancel() }
    }

    func forgetTask() { state.withLock { $0.task = nil } }
}
