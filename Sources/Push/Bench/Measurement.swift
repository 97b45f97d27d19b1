import CPushmillAllocations
import Glibc

/// What one message costs in a piece of the chain, on one thread, once every buffer has grown to its size.
package struct Measurement: Sendable {
    package let name: String
    /// Of this thread's CPU, in the best of several batches: what is over it is other processes' noise.
    package let nanoseconds: Double
    /// Swift objects (class instances, array and string storage, boxes) a message; not memory that is allocated without
    /// being an object, by C libraries, by pointers or for tasks.
    package let allocations: Double

    /// Into which a batch is cut, for it to end before another thread gets the core.
    private static let slices = 10

    /// Runs the body `messages` times for each batch. Times are taken before allocations are first counted in this
    /// process, or they include the counting.
    package init<E: Error>(
        _ name: String, messages: Int = 20_000, batches: Int = 20, _ body: () throws(E) -> Void
    ) throws(E) {
        self.name = name
        var best = Double.infinity
        let batch = max(1, messages / Self.slices)
        for _ in 0..<batches * Self.slices {
            let start = Self.threadNanoseconds()
            for _ in 0..<batch { try body() }
            best = min(best, Self.threadNanoseconds() - start)
        }
        nanoseconds = best / Double(batch)
        let count = try Self.allocations { () throws(E) in
            for _ in 0..<messages { try body() }
        }
        allocations = Double(count) / Double(messages)
    }

    /// The same for a body that could suspend and does not.
    package init<E: Error>(
        _ name: String, messages: Int = 20_000, batches: Int = 20, _ body: () async throws(E) -> Void
    ) async throws(E) {
        self.name = name
        var best = Double.infinity
        let batch = max(1, messages / Self.slices)
        for _ in 0..<batches * Self.slices {
            let start = Self.threadNanoseconds()
            for _ in 0..<batch { try await body() }
            best = min(best, Self.threadNanoseconds() - start)
        }
        nanoseconds = best / Double(batch)
        pushmill_allocations_start()
        let before = pushmill_allocations_of_this_thread()
        for _ in 0..<messages { try await body() }
        allocations = Double(pushmill_allocations_of_this_thread() - before) / Double(messages)
    }

    /// How many Swift objects this thread allocates while the body runs.
    package static func allocations<E: Error>(_ body: () throws(E) -> Void) throws(E) -> Int {
        pushmill_allocations_start()
        let before = pushmill_allocations_of_this_thread()
        try body()
        return Int(pushmill_allocations_of_this_thread() - before)
    }

    private static func threadNanoseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
