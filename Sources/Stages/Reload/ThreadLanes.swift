import Glibc
public import Synchronization

/// What all threads use, once in each of some lanes. A thread has a lane, and seldom shares it: a lock
/// that no other thread takes, and what it guards, stay in the cache of its core.
@usableFromInline
package final class ThreadLanes<Value: Sendable>: Sendable {
    @usableFromInline let lanes: [Lane]

    @usableFromInline
    final class Lane: Sendable {
        @usableFromInline let value: Mutex<Value>
        /// So that no two are in one cache line, or in two that the processor loads together.
        private let padding = InlineArray<16, UInt64>(repeating: 0)

        init(_ value: Value) { self.value = Mutex(value) }
    }

    package init(_ value: () -> Value) { lanes = (0..<8).map { _ in Lane(value()) } }

    @usableFromInline
    static var laneOfThread: Int {
        // Threads differ anywhere in it.
        Int(truncatingIfNeeded: (UInt64(pthread_self()) &* 0x9E37_79B9_7F4A_7C15) >> 61)
    }

    /// The value of the thread's lane.
    @inlinable
    package func withLock<R: Sendable>(_ body: (inout Value) -> R) -> R {
        lanes[Self.laneOfThread].value.withLock { body(&$0) }
    }

    /// Every lane's value, one after another.
    package func forEach(_ body: (inout Value) -> Void) {
        for lane in lanes { lane.value.withLock { body(&$0) } }
    }
}
