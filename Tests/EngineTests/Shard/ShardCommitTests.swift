import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Commits of a shard")
struct ShardCommitTests {
    private typealias Shard = ScriptedShard

    /// One message of each partition is published and stored.
    private func doOne(_ shard: ScriptedShard, of partitions: Range<Int32> = 0..<1) {
        for partition in partitions { shard.deliver(of: partition) }
        shard.turn()
        shard.acknowledge()
    }

    @Test("A commit follows the previous one after the interval")
    func interval() {
        let shard = Shard()
        shard.begin()
        doOne(shard)
        #expect(shard.committed() != nil)
        shard.acceptCommit()
        doOne(shard)
        shard.turn()
        expect(shard.turn(), is: shard.ports.now + .milliseconds(20))
        #expect(shard.committed(after: .milliseconds(19)) == nil)
        expect(shard.committed(after: .milliseconds(1))?.map(\.offset), is: [2])
    }

    @Test("A full shard commits without waiting for the interval")
    func full() {
        let shard = Shard { $0.maxInFlight = 3 }
        shard.begin()
        doOne(shard)
        shard.turn()
        shard.acceptCommit()
        shard.turn()
        doOne(shard)
        doOne(shard)
        #expect(shard.committed() == nil)
        shard.deliver()
        expect(shard.committed()?.map(\.offset), is: [3])
    }

    @Test("After a denied commit each partition is committed by itself: one that brokers do not know stops no other")
    func denied() {
        let shard = Shard()
        shard.begin(0..<3)
        doOne(shard, of: 0..<3)
        expect(shard.committed()?.count, is: 3)
        var accepted: Set<Int32> = []
        var isDenied = true
        for _ in 0..<12 {
            shard.acceptCommit(isDenied ? .denied(.unanswered) : .accepted)
            shard.turn()
            guard let commit = shard.committed(after: .milliseconds(500)) else { continue }
            expect(commit.count, is: 1)
            isDenied = commit.first?.partition.partition == 1
            if let position = commit.first, !isDenied { accepted.insert(position.partition.partition) }
        }
        expect(accepted, is: [0, 2])
        #expect(isDenied)
        // The group has lost the partition: the others are committed together again.
        shard.acceptCommit(.denied(.unanswered))
        shard.ports.events.append(.lost([Shard.partition(1)]))
        for _ in 0..<2 { shard.turn(after: .milliseconds(500)) }
        for partition: Int32 in [0, 2] { shard.deliver(of: partition) }
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.acceptCommit()
        shard.turn(after: .milliseconds(500))
        shard.acceptCommit()
        for partition: Int32 in [0, 2] { shard.deliver(of: partition) }
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.turn(after: .milliseconds(500))
        expect(shard.ports.takeCalls().lastCommit, is: [0, 2])
    }

    @Test("Only the partitions that were refused in a commit are committed again")
    func partly() {
        let shard = Shard { $0.maxInFlight = 2 }
        shard.begin(0..<2)
        doOne(shard, of: 0..<2)
        expect(shard.committed()?.map(\.partition.partition), is: [0, 1])
        #expect(!shard.figures.hasRoom)
        shard.acceptCommit(.partly(refused: [Shard.partition(1)]))
        expect(shard.callsOfTurn().told, is: [.commitFailed(reason: "some partitions were refused")])
        #expect(shard.figures.hasRoom)
        expect(shard.committed(after: .milliseconds(20))?.map(\.partition.partition), is: [1])
    }

    @Test("A commit is retried, and all is committed again later, in case the first arrives late")
    func again() {
        let shard = Shard()
        shard.begin()
        doOne(shard)
        shard.turn()
        shard.acceptCommit(.retry(.unanswered))
        expect(shard.callsOfTurn(), is: [])
        #expect(shard.committed(after: .milliseconds(49)) == nil)
        expect(shard.committed(after: .milliseconds(1))?.map(\.offset), is: [1])
        shard.acceptCommit()
        shard.turn()
        expect(shard.turn(), is: shard.ports.now + .milliseconds(4_950))
        expect(shard.turn(after: .milliseconds(4_949)), is: shard.ports.now + .milliseconds(1))
        #expect(shard.committed(after: .milliseconds(1)) == nil)
        expect(shard.committed()?.map(\.offset), is: [1])
        shard.acceptCommit()
        shard.turn()
        #expect(shard.committed(after: .seconds(10)) == nil)
    }

    @Test("A group that keeps postponing commits is reported every half minute")
    func putOff() {
        let shard = Shard()
        shard.begin()
        doOne(shard)
        shard.turn()
        var told: [ShardNews] = []
        // A commit in one second, its answer in the next.
        for _ in 0..<61 {
            shard.acceptCommit(.retry(.unanswered))
            told += shard.callsOfTurn(after: .seconds(1)).told
        }
        expect(told, is: Array(repeating: ShardNews.commitFailed(reason: KafkaError.unanswered.name), count: 2))
    }

    @Test("An unanswered commit is abandoned, and made again with what is done by then")
    func unanswered() {
        let shard = Shard()
        shard.begin()
        doOne(shard)
        shard.turn()
        doOne(shard)
        shard.turn()
        #expect(shard.committed(after: .milliseconds(1499)) == nil)
        expect(shard.committed(after: .milliseconds(1))?.map(\.offset), is: [2])
        shard.acceptCommit()
        shard.turn()
        shard.turn(after: .milliseconds(5000))
        expect(shard.committed()?.map(\.offset), is: [2])
    }

    @Test("An unanswered commit is made again even if nothing more is done")
    func unansweredAlone() {
        let shard = Shard()
        shard.begin()
        doOne(shard)
        expect(shard.committed()?.map(\.offset), is: [1])
        expect(shard.committed(after: .milliseconds(1500))?.map(\.offset), is: [1])
    }

    @Test("Finished messages are committed while later counts are in flight")
    func whileCounting() {
        let shard = Shard.counting()
        shard.begin()
        shard.deliver(2)
        shard.turn()
        shard.acknowledge()
        shard.turn()
        shard.turn(after: .milliseconds(20))
        shard.ports.reports = [OutputReport(tag: shard.ports.takeSentChanges()[0].tag, offset: 0)]
        expect(shard.committed()?.map(\.offset), is: [1])
    }

    @Test("A member whose commit is refused asks the group before it publishes anything more")
    func refused() {
        let shard = Shard()
        shard.begin()
        doOne(shard)
        shard.turn()
        shard.acceptCommit(.refused(.unanswered))
        let calls = shard.callsOfTurn()
        expect(calls.told, is: [.commitFailed(reason: "the group does not accept offsets from this member")])
        #expect(!shard.wantsRecords)
        expect(shard.turn(), is: shard.ports.now + .milliseconds(200))
        #expect(shard.committed(after: .milliseconds(199)) == nil)
        expect(shard.callsOfTurn(after: .milliseconds(1)).count, is: 2)
    }

    @Test("During a rejoin of the group the shard commits nothing")
    func joining() {
        let shard = Shard()
        shard.begin()
        shard.ports.isJoining = true
        doOne(shard)
        #expect(shard.committed() == nil)
        shard.ports.isJoining = false
        expect(shard.committed(after: .milliseconds(50))?.map(\.offset), is: [1])
    }

    @Test("Completed offsets that do not fit into a commit's metadata are reported")
    func cut() {
        let shard = Shard {
            $0.metadataLimit = 64
            $0.maxInFlight = 2000
        }
        shard.begin()
        shard.ports.chain = {
            $0.offset.isMultiple(of: 2) ? .suspended(until: $1 + .seconds(9)) : .ended(.nowhere)
        }
        for _ in 0..<1000 { shard.deliver(to: "\(shard.ports.messages.count)") }
        let calls = (0..<5).flatMap { _ in shard.callsOfTurn(after: .milliseconds(20)) }
        shard.acceptCommit()
        let told = (calls + shard.callsOfTurn(after: .milliseconds(20))).told
        guard case .metadataCut(Shard.partition(), let leftOut) = told.first else {
            Issue.record("nothing was left out: \(told)")
            return
        }
        #expect((1..<500).contains(leftOut))
    }
}

extension [ScriptedPorts.Call] {
    /// The partitions of the last commit.
    fileprivate var lastCommit: [Int32]? {
        compactMap { call -> [Int32]? in
            if case .commit(let positions, _) = call { positions.map(\.partition.partition) } else { nil }
        }.last
    }
}
