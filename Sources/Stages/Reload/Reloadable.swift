import Glibc
import PushmillPayload
public import Synchronization

/// Something in force that came from a file or folder and can be read again while it is used.
package protocol Reloadable: AnyObject, Sendable {
    var path: String { get }

    /// Reads again if there is a cause to. Called by one thread at a time, which it may block.
    func reload(_ cause: ReloadCause) -> ReloadOutcome
}

package enum ReloadCause: Sendable {
    /// A look at the file, once in a while: a change is read when it has come to rest, or has not for many looks.
    case poll
    /// Somebody asked, such as by SIGHUP.
    case request
}

package enum ReloadOutcome: Sendable, Equatable {
    case unchanged
    case reloaded
    /// The old one stays in force; says why.
    case failed(String)
}

/// A value read from a file or folder, and read again when that changes. It is replaced as a whole, for one lane of threads
/// after the other: readers keep the value that they took, and one that cannot be read leaves the old one in force.
@usableFromInline
package final class ReloadableFile<Value: Sendable>: Reloadable {
    package let path: String
    private let read: @Sendable (_ path: String, _ before: Value?) throws -> Value
    let lanes: [ThreadLane<Value>]
    /// The same ones: taking one out of an array counts it.
    @usableFromInline let unownedLanes: [Unmanaged<ThreadLane<Value>>]
    private let changes = Atomic<Int>(0)
    private let watch: Mutex<Watch>

    private struct Watch {
        /// As of the last attempt to read, whether it succeeded or not.
        var attempted: FileFingerprint
        /// As of the last look.
        var seen: FileFingerprint
        /// Why that attempt failed.
        var failure: String?
        /// Since there is something to read: a change, or what could not be read.
        var looks = 0
    }

    /// Looks after which what does not come to rest is read all the same, and what could not be read is tried again.
    private static var patience: Int { 60 }

    /// Reads for the first time; later `read` gets the value in force as well.
    package init(
        path: String, read: @escaping @Sendable (_ path: String, _ before: Value?) throws -> Value
    ) throws {
        self.path = path
        self.read = read
        let fingerprint = FileFingerprint(of: path)
        let value = try read(path, nil)
        lanes = (0..<8).map { _ in ThreadLane(value) }
        unownedLanes = lanes.map(Unmanaged.passUnretained)
        watch = Mutex(Watch(attempted: fingerprint, seen: fingerprint))
    }

    package var value: Value { withValue { $0 } }

    /// Lends the value under the lock of the thread's lane: who takes it counts it, which all threads do in one place. A
    /// replacement waits for the body, which asks for no value of this file. What the body changes, the lane alone has until
    /// the next replacement.
    @inlinable
    package func withValue<R: Sendable>(_ body: (inout Value) -> R) -> R {
        unownedLanes[Self.laneOfThread]._withUnsafeGuaranteedRef { lane in lane.value.withLock { body(&$0) } }
    }

    @usableFromInline
    static var laneOfThread: Int {
        // Threads differ anywhere in it.
        Int(truncatingIfNeeded: (UInt64(pthread_self()) &* 0x9E37_79B9_7F4A_7C15) >> 61)
    }

    /// Grows with every replacement, after the value is there: cheaper to ask than for the value itself.
    package var version: Int { changes.load(ordering: .acquiring) }

    package func reload(_ cause: ReloadCause) -> ReloadOutcome {
        let seen = FileFingerprint(of: path)
        let isAgain = watch.withLock { watch -> Bool? in
            // Where it has changed since the last look somebody may still be writing.
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
        guard let isAgain else { return .unchanged }
        do {
            // The thread is everybody's.
            if let pipe = seen.pipe { throw FileFailure(path: pipe, what: "a pipe is read at the start alone") }
            let before = value
            let value = try read(path, before)
            for lane in lanes { lane.value.withLock { $0 = value } }
            changes.add(1, ordering: .releasing)
            // It goes here, and not under the lock of a lane.
            withExtendedLifetime(before) {}
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
}

/// A value as some threads have it. A thread has a lane, and seldom shares it: a lock that no other thread takes, and
/// what it guards, stay in the cache of its core.
@usableFromInline
final class ThreadLane<Value: Sendable>: Sendable {
    @usableFromInline let value: Mutex<Value>
    /// So that no two are in one cache line, or in two that the processor loads together.
    private let padding = InlineArray<16, UInt64>(repeating: 0)

    init(_ value: Value) { self.value = Mutex(value) }
}
