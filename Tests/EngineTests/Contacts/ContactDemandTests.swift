import PushmillKafka
import PushmillStages
import Testing

@testable import PushmillEngine

@Suite("Contacts of a topic")
struct ContactDemandTests {
    private static let (first, second) = (TopicPartition("a", 1), TopicPartition("b", 1))
    private static let other = TopicPartition("a", 2)

    private func demand(isCoPartitioned: Bool = true) -> ContactDemand {
        ContactDemand(topic: "contacts", isCoPartitioned: isCoPartitioned)
    }

    @Test("How far they are is told until they are there")
    func progress() {
        let demand = demand(isCoPartitioned: false)
        demand.begin(total: 200)
        demand.add(50)
        #expect(demand.reason?.word == "contacts-not-restored")
        #expect(demand.reason?.sentence == "contacts are read from the topic contacts: 50 of at most 200 records")
        demand.serve([0, 1], areAll: true)
        #expect(demand.reason == nil && demand.isRestored)
        demand.begin(total: 1)
        #expect(demand.isRestored && demand.records == (0, 1))
        demand.serve([0, 1], areAll: false)
        #expect(!demand.isRestored)
    }

    @Test("Those of a whole topic are there for all or for nobody, and are read whoever asks")
    func whole() {
        let demand = demand(isCoPartitioned: false)
        #expect(!demand.isReady(Self.first))
        demand.serve([1], areAll: false)
        #expect(!demand.isReady(Self.first))
        demand.serve([1, 2], areAll: true)
        demand.forget([Self.first])
        #expect(demand.isReady(Self.first) && demand.isReady(Self.other))
        #expect(demand.wanted(until: .past) == [])
    }

    @Test("Who needs a partition waits until it is served, and has it at once where it is")
    func waiting() {
        let demand = demand()
        #expect(demand.isRestored && demand.reason == nil && demand.wanted(until: .past) == [])
        #expect(!demand.isReady(Self.first) && !demand.isReady(Self.other))
        #expect(demand.wanted(until: .past) == [1, 2])
        #expect(!demand.isReady(Self.first) && demand.reason?.word == "contacts-not-restored")
        demand.serve([1], areAll: false)
        #expect(demand.isReady(Self.first) && demand.isReady(Self.second) && !demand.isReady(Self.other))
        #expect(!demand.isRestored)
        demand.serve([1, 2], areAll: true)
        #expect(demand.isReady(Self.other) && demand.isRestored)
    }

    @Test("A partition is followed until the last who needs it forgets it, and nobody waits for it then")
    func forgetting() {
        let demand = demand()
        for place in [Self.first, Self.second, Self.other] { _ = demand.isReady(place) }
        demand.serve([1], areAll: false)
        demand.forget([Self.first, TopicPartition("a", 7)])
        #expect(demand.isReady(Self.second) && demand.wanted(until: .past) == [1, 2])
        demand.forget([Self.other])
        #expect(demand.isRestored && demand.wanted(until: .past) == [1])
        demand.forget([Self.second])
        #expect(demand.wanted(until: .past) == [] && demand.isRestored)
    }

    @Test("A shard that learns late that it has lost a partition takes nothing from the one that has it now")
    func lostLate() {
        let demand = demand()
        _ = demand.isReady(Self.first, for: 0)
        demand.serve([1], areAll: true)
        #expect(demand.isReady(Self.first, for: 1))
        demand.forget([Self.first], for: 0)
        #expect(demand.isReady(Self.first, for: 1) && demand.wanted(until: .past) == [1])
        demand.forget([Self.first], for: 1)
        #expect(demand.wanted(until: .past) == [])
    }

    @Test("A partition that is forgotten and needed again is ready when who follows says anew that it is served")
    func again() {
        let demand = demand()
        _ = demand.isReady(Self.first)
        demand.serve([1], areAll: true)
        demand.forget([Self.first])
        // Who follows learns that nobody needs it, and lets go of it after this.
        #expect(demand.wanted(until: .past) == [])
        #expect(!demand.isReady(Self.first))
        demand.serve([], areAll: true)
        #expect(!demand.isReady(Self.first) && !demand.isRestored)
        #expect(demand.wanted(until: .past) == [1])
        // Who follows has not heard of it, and says again what there is.
        demand.serve([1], areAll: true)
        demand.forget([Self.first])
        #expect(!demand.isReady(Self.first))
        #expect(demand.wanted(until: .past) == [1])
        demand.serve([1], areAll: true)
        #expect(demand.isReady(Self.first))
    }

    @Test("What is served and no longer needed is not ready for who needs it later")
    func unneeded() {
        let demand = demand()
        _ = demand.isReady(Self.first)
        demand.forget([Self.first])
        demand.serve([1], areAll: true)
        #expect(!demand.isReady(Self.first))
    }

    @Test("A new need, one less and the end wake who follows", arguments: ["need", "forget", "end"])
    func waking(what: String) {
        let demand = demand()
        _ = demand.isReady(Self.other)
        #expect(demand.wanted(until: .past) == [2])
        switch what {
        case "need": _ = demand.isReady(Self.first)
        case "forget": demand.forget([Self.other])
        default: demand.end()
        }
        let begun = TimeSource.system.now
        let wanted = demand.wanted(until: begun + .seconds(50))
        #expect(TimeSource.system.now < begun + .seconds(40))
        let expected: Set<Int32>? = what == "need" ? [1, 2] : what == "forget" ? [] : nil
        #expect(wanted == expected)
        #expect((demand.wanted(until: .past) == nil) == (what == "end"))
    }
}

/// For the first shard.
extension ContactDemand {
    fileprivate func isReady(_ partition: TopicPartition) -> Bool { isReady(partition, for: 0) }

    fileprivate func forget(_ partitions: [TopicPartition]) { forget(partitions, for: 0) }
}
