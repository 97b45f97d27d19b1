/// One transaction after another: outputs go into the open one until its commit is wanted or it has to be aborted. Then
/// nothing more is published, what was is awaited, and it is committed; or what was is dropped, and state and input go
/// back to the last commit.
///
/// The caller performs each action and reports how it went, by `succeeded` or `failed`.
package struct TransactionMachine: ~Copyable {
    package enum Action: Hashable, Sendable {
        case none
        /// Take over the name of the transactions, fencing whoever had it before.
        case initialize
        case begin
        /// Publish nothing more, and await the answer to everything that was published.
        case close
        /// Commit outputs, counts and offsets of this moment. It has failed as `abortable` if partitions were lost since
        /// `begin`: their outputs are another's to publish by now.
        case commit
        /// Publish nothing more, and answer whoever waits for a commit.
        case fence
        case abort
        /// Set counts and positions back to the last commit, and read on from there.
        case rewind
        /// Nothing that this producer does counts any more: leave, and end the process.
        case leave
    }

    package enum Failure: Sendable {
        /// The same once more.
        case retriable
        case abortable
        case fatal
    }

    private enum State {
        case new, initializing, beginning, open, closing, committing, fencing, aborting, rewinding, over
    }

    private var state: State = .new

    package init() {}

    /// Outputs may be published.
    package var isOpen: Bool { state == .open }

    /// Its transactions are this process's to end.
    package var isInitialized: Bool { state != .new && state != .initializing && state != .over }

    package mutating func start() -> Action {
        precondition(state == .new, "started twice")
        state = .initializing
        return .initialize
    }

    /// Ignored while there is nothing to commit, or a commit is under way.
    package mutating func commitWanted() -> Action {
        guard state == .open else { return .none }
        state = .closing
        return .close
    }

    /// An output was refused for good, or partitions were lost. Once the commit itself is under way the brokers decide.
    package mutating func abortWanted() -> Action {
        guard state == .open || state == .closing else { return .none }
        state = .fencing
        return .fence
    }

    package mutating func succeeded() -> Action {
        switch state {
        case .initializing, .rewinding, .committing: become(.beginning, .begin)
        case .beginning: become(.open, .none)
        case .closing: become(.committing, .commit)
        case .fencing: become(.aborting, .abort)
        case .aborting: become(.rewinding, .rewind)
        case .new, .open, .over: .none
        }
    }

    package mutating func failed(_ failure: Failure) -> Action {
        if case .fatal = failure { return become(.over, .leave) }
        switch state {
        case .initializing: return .initialize
        case .beginning: return .begin
        case .committing:
            guard case .abortable = failure else { return .commit }
            return become(.fencing, .fence)
        case .closing: return become(.fencing, .fence)
        case .fencing: return .fence
        case .aborting: return .abort
        case .rewinding: return .rewind
        case .new, .open, .over: return .none
        }
    }

    private mutating func become(_ next: State, _ action: Action) -> Action {
        state = next
        return action
    }
}
