import Glibc
import PushmillPayload
public import Synchronization

/// A value in force that was read from a file or folder and can be reread while it is used.
package protocol Reloadable: AnyObject, Sendable {
    var path: String { get }

    /// Rereads the file if there is a reason to. Called by one thread at a time, which it may block.
    func reload(_ cause: ReloadCause) -> ReloadOutcome
}

package enum ReloadCause: Sendable {
    /// A periodic check. A change is read once the file is the same at two checks in a row, or has not settled for
    /// many.
    case poll
    /// An explicit request, such as SIGHUP.
    case request
}

package enum ReloadOutcome: Sendable, Equatable {
    case unchanged
    case reloaded
    /// The old value stays in force; the text says why.
    case failed(String)
}

/// A value read from a file or folder, and reread when that changes. It is replaced as a whole, in one lane of threads
/// after another. Readers keep the value that they took; if the file cannot be read, the old value stays in force.
@usableFromInline
package final class ReloadableFile<Value: Sendable>: Reloadable {
    package let path: String
    private let read: @Sendable (_ path: String, _ before: Value?) throws -> Value
    private let tidied: @Sendable (Value) -> Value?
    let lanes: [ThreadLane<Value>]
    /// `lanes` without reference counting.
    @usableFromInline let unownedLanes: [Unmanaged<ThreadLane<Value>>]
    private let changes = Atomic<Int>(0)
    private let watch: Mutex<Watch>

    private struct Watch {
        /// The fingerprint at the last attempt to read, whether it succeeded or not.
        var attempted: FileFingerprint
        /// The fingerprint at the last check.
        var seen: FileFingerprint
        /// Why the last attempt failed.
        var failure: String?
        /// The number of checks since there has been something to read: a change, or a file that could not be read.
        var looks = 0
    }

    /// The number of checks after which a file that keeps changing is read all the same, and a failed read is retried.
    private static var patience: Int { 60 }

    /// Reads the value for the first time. Later, `read` also gets the value in force. At each check, `tidied` returns
    /// the value without what has outlived its use; nil if there is nothing of that.
    package init(
        path: String, tidied: @escaping @Sendable (Value) -> Value? = { _ in nil },
        read: @escaping @Sendable (_ path: String, _ before: Value?) throws -> Value
    ) throws {
        self.path = path
        self.read = read
        self.tidied = tidied
        let fingerprint = FileFingerprint(of: path)
        let value = try read(path, nil)
        lanes = (0..<8).map { _ in ThreadLane(value) }
        unownedLanes = lanes.map(Unmanaged.passUnretained)
        watch = Mutex(Watch(attempted: fingerprint, seen: fingerprint))
    }

    package var value: Value { withValue { $0 } }

    /// Lends the value under the lock of the thread's lane: taking the value would make all threads contend for one
    /// reference count. A replacement waits for the body, which must not ask this file for a value. Only this lane sees
    /// the body's changes, until the next replacement.
    @inlinable
    package func withValue<R: Sendable>(_ body: (inout Value) -> R) -> R {
        unownedLanes[Self.laneOfThread]._withUnsafeGuaranteedRef { lane in lane.value.withLock { body(&$0) } }
    }

    @usableFromInline
    static var laneOfThread: Int {
        // Thread identifiers may differ in any of their bits.
        Int(truncatingIfNeeded: (UInt64(pthread_self()) &* 0x9E37_79B9_7F4A_7C15) >> 61)
    }

    /// Grows with every replacement, after the value is in place. Cheaper to read than the value itself.
    package var version: Int { changes.load(ordering: .acquiring) }

    package func reload(_ cause: ReloadCause) -> ReloadOutcome {
        let seen = FileFingerprint(of: path)
        let isAgain = watch.withLock { watch -> Bool? in
            // If the file has changed since the last check, somebody may still be writing it.
            let isSettled = seen == watch.seen
            let isChanged = seen != watch.attempted
            watch.seen = seen
            watch.looks = isChanged || watch.failure != nil ? watch.looks + 1 : 0
            let isOverdue = watch.looks >= Self.patience
            guard cause == .request || isChanged && isSettled || isOverdue else { return nil }
            watch.attempted = seen
            watch.looks = 0
            return cause == .poll && !isChanged
        }
        guard let isAgain else {
            let before = value
            if let value = tidied(before) { put(value, insteadOf: before) }
            return .unchanged
        }
        do {
            // All files share this thread, which a pipe would block.
            if let pipe = seen.pipe { throw FileFailure(path: pipe, what: "a pipe can be read only at the start") }
            let before = value
            try put(read(path, before), insteadOf: before)
            watch.withLock { $0.failure = nil }
            return .reloaded
        } catch {
            let failure = "\(error)"
            let isKnown = watch.withLock { watch in
                defer { watch.failure = failure }
                return watch.failure == failure
            }
            return isAgain && isKnown ? .unchanged : .failed(failure)
        }
    }

    /// `before` is released by this thread, and not under the lock of a lane.
    private func put(_ value: Value, insteadOf before: Value) {
        for lane in lanes { lane.value.withLock { $0 = value } }
        changes.add(1, ordering: .releasing)
        withExtendedLifetime(before) {}
    }
}

/// The copy of a value that some threads use. A thread seldom shares its lane: a lock that no other thread takes stays
/// in the cache of its core, with what it guards.
@usableFromInline
final class ThreadLane<Value: Sendable>: Sendable {
    @usableFromInline let value: Mutex<Value>
    /// Keeps two lanes out of one cache line, and out of two lines that the processor loads together.
    private let padding = InlineArray<16, UInt64>(repeating: 0)

    init(_ value: Value) { self.value = Mutex(value) }
}
