import PushmillStores
import Synchronization
import Testing

@testable import PushmillEngine

@Suite("Partitions of contacts that are followed")
struct FollowedPartitionsTests {
    /// The partitions that somebody was told of.
    private final class Told: Sendable {
        private let list = Mutex<[Int32]>([])
        var partitions: [Int32] { list.withLock { $0 } }
        func callAsFunction(_ partition: Int32) { list.withLock { $0.append(partition) } }
    }

    @Test("One is followed once, and forgotten once")
    func members() {
        var followed = FollowedPartitions()
        #expect(followed.isEmpty && followed.areWhole && followed.areServed)
        let inserted = [followed.insert(3), followed.insert(3), followed.insert(4)]
        #expect(inserted == [true, false, true])
        #expect(followed.all == [3, 4] && !followed.isEmpty)
        #expect(followed.contains(3) && !followed.contains(5))
        let removed = [followed.remove(3), followed.remove(3)]
        #expect(removed == [true, false])
        #expect(followed.all == [4])
    }

    @Test("Who waits for one is told when it was read to its end, and at once where it was before")
    func waiting() {
        var followed = FollowedPartitions()
        let told = Told()
        for partition in Int32(0)..<3 { _ = followed.insert(partition) }
        for partition in [0, 0, 1, 2] as [Int32] { followed.wait(for: partition) { told($0) } }
        #expect(told.partitions == [])
        for (partition, whenWhole) in followed.complete([0, 2, 7]) { whenWhole(partition) }
        #expect(told.partitions.sorted() == [0, 0, 2])
        #expect(followed.served == [0, 2] && followed.whole == [0, 2])
        #expect(!followed.areServed && !followed.areWhole)
        let rest = followed.complete([0, 1])
        #expect(rest.map(\.partition) == [1])
        #expect(followed.areServed && followed.areWhole)
        followed.wait(for: 1) { told($0) }
        // Nobody follows it: nobody is to wait for it.
        followed.wait(for: 9) { told($0) }
        #expect(told.partitions.sorted() == [0, 0, 1, 2, 9])
    }

    @Test("What is read from its beginning again stays in service")
    func forgotten() {
        var followed = FollowedPartitions()
        for partition in Int32(0)..<2 { _ = followed.insert(partition) }
        _ = followed.complete([0, 1])
        let (isAny, isOther) = (followed.forget([1, 5]), followed.forget([5]))
        #expect(isAny && !isOther)
        #expect(followed.whole == [0] && followed.served == [0, 1])
    }

    @Test("When the topic has other partitions what is known of those that stay is kept")
    func become() {
        var followed = FollowedPartitions()
        followed.become(0..<3)
        _ = followed.complete([0, 2])
        followed.expect(RecordPosition(partition: 0, offset: 8), in: 0)
        followed.become(0..<2)
        #expect(followed.all == [0, 1] && followed.served == [0])
        #expect(followed.expected(in: 0)?.offset == 8)
        followed.become(0..<3)
        #expect(followed.all == [0, 1, 2] && followed.served == [0])
        followed.expect(nil, in: 0)
        #expect(followed.expected(in: 0) == nil && followed.expected(in: 7) == nil)
    }
}
