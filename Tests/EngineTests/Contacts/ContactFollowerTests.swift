import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("The follower of a contacts topic")
struct ContactFollowerTests {
    private static let (first, second) = (TopicPartition("a", 1), TopicPartition("b", 1))
    private static let other = TopicPartition("a", 2)

    /// A follower without its thread.
    private func follower(isCoPartitioned: Bool = true) -> ContactFollower {
        ContactFollower(topic: "contacts", isCoPartitioned: isCoPartitioned)
    }

    @Test("The follower reports its progress until all contacts are restored")
    func progress() {
        let follower = follower(isCoPartitioned: false)
        follower.begin(total: 200)
        follower.add(50)
        expect(follower.reason?.word, is: "contacts-not-restored")
        expect(follower.reason?.sentence, is: "reading contacts from the topic contacts: 50 of at most 200 records")
        follower.serve([0, 1], areAll: true)
        #expect(follower.reason == nil && follower.isRestored)
        follower.begin(total: 1)
        #expect(follower.isRestored && follower.records == (0, 1))
        follower.serve([0, 1], areAll: false)
        #expect(!follower.isRestored)
    }

    @Test("The follower reports for how long its topic could not be followed")
    func failing() {
        let follower = follower(isCoPartitioned: false)
        expect(follower.failing, is: .zero)
        follower.fail()
        let first = follower.failing
        follower.fail()
        #expect(follower.failing >= first && follower.failing > .zero)
        follower.succeed()
        expect(follower.failing, is: .zero)
    }

    @Test("A topic that is not co-partitioned is ready for all partitions or for none")
    func whole() {
        let follower = follower(isCoPartitioned: false)
        #expect(!follower.isReady(Self.first))
        follower.serve([1], areAll: false)
        #expect(!follower.isReady(Self.first))
        follower.serve([1, 2], areAll: true)
        follower.forget([Self.first])
        #expect(follower.isReady(Self.first) && follower.isReady(Self.other))
        expect(follower.wanted(until: .past), is: [])
    }

    @Test("A partition is ready once its contacts are served, at once if they already are")
    func waiting() {
        let follower = follower()
        #expect(follower.isRestored && follower.reason == nil && follower.wanted(until: .past) == [])
        #expect(!follower.isReady(Self.first) && !follower.isReady(Self.other))
        expect(follower.wanted(until: .past), is: [1, 2])
        #expect(!follower.isReady(Self.first) && follower.reason?.word == "contacts-not-restored")
        follower.serve([1], areAll: false)
        #expect(follower.isReady(Self.first) && follower.isReady(Self.second) && !follower.isReady(Self.other))
        #expect(!follower.isRestored)
        follower.serve([1, 2], areAll: true)
        #expect(follower.isReady(Self.other) && follower.isRestored)
    }

    @Test("A partition of contacts is followed until the last user forgets it")
    func forgetting() {
        let follower = follower()
        for partition in [Self.first, Self.second, Self.other] { _ = follower.isReady(partition) }
        follower.serve([1], areAll: false)
        follower.forget([Self.first, TopicPartition("a", 7)])
        #expect(follower.isReady(Self.second) && follower.wanted(until: .past) == [1, 2])
        follower.forget([Self.other])
        #expect(follower.isRestored && follower.wanted(until: .past) == [1])
        follower.forget([Self.second])
        #expect(follower.wanted(until: .past) == [] && follower.isRestored)
    }

    @Test("A shard that forgets a lost partition late does not affect its new owner")
    func lostLate() {
        let follower = follower()
        _ = follower.isReady(Self.first, for: 0)
        follower.serve([1], areAll: true)
        #expect(follower.isReady(Self.first, for: 1))
        follower.forget([Self.first], for: 0)
        #expect(follower.isReady(Self.first, for: 1) && follower.wanted(until: .past) == [1])
        follower.forget([Self.first], for: 1)
        expect(follower.wanted(until: .past), is: [])
    }

    @Test("A partition that is forgotten and needed again is ready only once it is served again")
    func again() {
        let follower = follower()
        _ = follower.isReady(Self.first)
        follower.serve([1], areAll: true)
        follower.forget([Self.first])
        // The follower's thread learns that nobody needs the partition, and drops it after this.
        expect(follower.wanted(until: .past), is: [])
        #expect(!follower.isReady(Self.first))
        follower.serve([], areAll: true)
        #expect(!follower.isReady(Self.first) && !follower.isRestored)
        expect(follower.wanted(until: .past), is: [1])
        // The follower's thread has not heard of the change, and repeats what it serves.
        follower.serve([1], areAll: true)
        follower.forget([Self.first])
        #expect(!follower.isReady(Self.first))
        expect(follower.wanted(until: .past), is: [1])
        follower.serve([1], areAll: true)
        #expect(follower.isReady(Self.first))
    }

    @Test("A partition that is served after it was forgotten is not ready for later users")
    func unneeded() {
        let follower = follower()
        _ = follower.isReady(Self.first)
        follower.forget([Self.first])
        follower.serve([1], areAll: true)
        #expect(!follower.isReady(Self.first))
    }

    @Test("A new need, a dropped need and the end wake the follower's thread", arguments: ["need", "forget", "end"])
    func waking(what: String) {
        let follower = follower()
        _ = follower.isReady(Self.other)
        expect(follower.wanted(until: .past), is: [2])
        switch what {
        case "need": _ = follower.isReady(Self.first)
        case "forget": follower.forget([Self.other])
        default: follower.end()
        }
        let begun = TimeSource.system.now
        let wanted = follower.wanted(until: begun + .seconds(50))
        #expect(TimeSource.system.now < begun + .seconds(40))
        let expected: Set<Int32>? = what == "need" ? [1, 2] : what == "forget" ? [] : nil
        expect(wanted, is: expected)
        expect((follower.wanted(until: .past) == nil), is: (what == "end"))
    }
}

/// The same calls for shard 0.
extension ContactFollower {
    fileprivate func isReady(_ partition: TopicPartition) -> Bool { isReady(partition, for: 0) }

    fileprivate func forget(_ partitions: [TopicPartition]) { forget(partitions, for: 0) }
}
