import Glibc
import Push

/// What a lane's thread waits for.
enum LaneMessage: Sendable {
    case items([LaneItem])
    /// A suspended message wants to go on.
    case job(UnownedJob)
    /// These partitions are gone: what is unfinished of them is given up.
    case giveUp([PartitionSlot])
    /// A transaction is open: what was held is published.
    case publishHeld
    /// Another thread has published the message whose stage held this one.
    case left(Carrier)
    case stop
}

/// Runs a lane's jobs on the lane's own thread, so that messages go on where they began.
final class LaneExecutor: SerialExecutor {
    let mailbox = Mailbox<LaneMessage>()
    /// Set once, by the thread itself, before it touches the lane.
    nonisolated(unsafe) private var thread: pthread_t?

    func adoptThread() { thread = pthread_self() }

    func enqueue(_ job: consuming ExecutorJob) { mailbox.post(.job(UnownedJob(job))) }

    func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedSerialExecutor()) }

    func isIsolatingCurrentContext() -> Bool? { thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }

    func checkIsolated() { precondition(isIsolatingCurrentContext() == true, "not the lane's thread") }
}
