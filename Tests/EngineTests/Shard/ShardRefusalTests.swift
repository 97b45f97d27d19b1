import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Refusals within a shard's transactions")
struct ShardRefusalTests {
    private typealias Shard = ScriptedShard
    private let partition = ScriptedShard.partition()

    private func transactional() -> ScriptedShard { Shard { $0.isTransactional = true } }

    @Test("An unstored dead letter stays out of transactions for five seconds, and outputs do not")
    func letterAway() {
        let shard = transactional()
        shard.begin()
        shard.ports.chain = { message, _ in .ended(message.offset == 0 ? .deadLetters : .output) }
        shard.deliver(to: "anna")
        shard.turn()
        shard.fail(.unavailable(reason: "away"))
        let since = shard.ports.now
        for _ in 0..<3 { shard.turn() }
        shard.ports.messages = [
            ScriptedPorts.Message(offset: 0), ScriptedPorts.Message(offset: 1, recipient: "bert"),
            ScriptedPorts.Message(offset: 2),
        ]
        // The last one waits for the first, which has the same recipient.
        expect(shard.published(), is: [1])
        shard.acknowledge()
        expect(shard.published(after: .milliseconds(4_999)), is: [])
        while shard.ports.now < since + .milliseconds(4_999) || !shard.figures.hasRoom { shard.turn() }
        expect(shard.published(after: .milliseconds(1)), is: [0, 2])
    }

    /// A shard whose outputs of two partitions were refused, and which is to read the records of both again.
    private func refused() -> ScriptedShard {
        let shard = transactional()
        shard.begin(0..<2)
        for partition in Int32(0)..<2 { shard.deliver(2, of: partition, to: "\(partition)") }
        shard.turn()
        shard.fail(.refused(reason: "bad"))
        for _ in 0..<3 { shard.turn() }
        return shard
    }

    private func again(_ partition: Int32, _ offsets: [Int64]) -> [ScriptedPorts.Message] {
        offsets.map { ScriptedPorts.Message(partition: partition, offset: $0, recipient: "\($0)") }
    }

    @Test("A refusal is forgotten once its record is committed, and the others are not")
    func forgotten() {
        let shard = refused()
        expect(shard.refusals, is: 4)
        shard.ports.messages = again(0, [0])
        shard.turn()
        expect(shard.published(), is: [0])
        shard.acknowledge()
        let calls = (0..<2).flatMap { _ in shard.callsOfTurn(after: .milliseconds(20)) }
        #expect(calls.contains(.transact(.commit)))
        expect(shard.refusals, is: 3)
    }

    @Test("The refusals of a partition that goes are forgotten, and those of others are not", arguments: [false, true])
    func forgottenWithPartition(isLost: Bool) {
        let shard = refused()
        shard.ports.messages = again(0, [0])
        for _ in 0..<2 { shard.turn() }
        shard.fail(.refused(reason: "bad"))
        for _ in 0..<3 { shard.turn(after: .milliseconds(40)) }
        expect(shard.refusals, is: 4)
        shard.ports.events = [isLost ? .lost([partition]) : .revoked([partition])]
        for _ in 0..<3 { shard.turn() }
        expect(shard.refusals, is: 2)
    }

    @Test("The refusals of a log are forgotten when a recreated one takes its place")
    func forgottenWithLog() {
        let shard = Shard.counting {
            $0.isTransactional = true
            $0.reset = .earliest
        }
        shard.begin()
        shard.deliver()
        shard.turn()
        shard.acknowledgeChanges()
        shard.fail(.refused(reason: "bad"))
        shard.turn()
        shard.acknowledgeChanges()
        // Another producer begins with the committed offsets.
        shard.ports.hasProducerFailed = true
        for _ in 0..<3 { shard.turn() }
        expect(shard.refusals, is: 1)
        // The log ends just before what was counted last.
        for _ in 0..<2 {
            shard.ports.events = [.committed([Shard.position(Position.none)])]
            #expect(shard.callsOfTurn().contains(.askRange(partition)))
            shard.ports.events = [.range(partition, 0..<10)]
            shard.ports.replica = [Shard.record(0, "anna", "5 10"), Shard.end(1)]
            for _ in 0..<2 { shard.turn() }
        }
        expect(shard.refusals, is: 0)
    }

    @Test("Only refused outputs are sent alone")
    func others() {
        let shard = transactional()
        shard.begin(0..<2)
        shard.deliver(2)
        shard.turn()
        shard.fail(.refused(reason: "bad"))
        for _ in 0..<3 { shard.turn() }
        shard.deliver(2, of: 1)
        expect(shard.published(), is: [0, 1])
    }

    @Test("After a refused dead letter, the next only names the message, and waits if refused")
    func poisonLetter() {
        let shard = transactional()
        shard.begin()
        shard.deliver()
        shard.turn()
        /// Refuses what was published, with others and alone. Returns what the shard does once the record is back.
        func refuse() -> [ScriptedPorts.Call] {
            for _ in 0..<2 {
                shard.fail(.refused(reason: "bad"))
                for _ in 0..<6 { shard.turn(after: .milliseconds(250)) }
                shard.ports.messages = [ScriptedPorts.Message(offset: 0)]
                _ = shard.ports.takeCalls()
                shard.turn()
                // A suspect goes alone in the turn after the one that holds it.
                shard.turn()
            }
            return shard.ports.takeCalls() + (0..<2).flatMap { _ in shard.callsOfTurn() }
        }
        let refusal = ScriptedPorts.Call.refuseCurrent(reason: "bad")
        let letter = ScriptedPorts.Call.publish(ScriptedPorts.Output(partition: 0, offset: 0, isLetter: true))
        expect(refuse().count { $0 == refusal }, is: 1)
        let named = refuse()
        expect(named.count { $0 == refusal }, is: 2)
        #expect(named.contains(letter))
        #expect(!refuse().contains(letter))
        #expect(shard.callsOfTurn(after: .seconds(10)).contains(letter))
    }

    @Test(
        "A refused dead letter of a too large output goes alone, then only names it")
    func tooLarge() {
        let shard = transactional()
        shard.begin()
        shard.ports.publishing = { $0.isLetter ? .queued : .refused(reason: "too large") }
        shard.deliver()
        for _ in 0..<2 { shard.turn() }
        let letter = ScriptedPorts.Output(partition: 0, offset: 0, isLetter: true)
        for isAlone in [false, true] {
            shard.fail(.refused(reason: "bad"))
            for _ in 0..<6 { shard.turn(after: .milliseconds(250)) }
            shard.ports.messages = [ScriptedPorts.Message(offset: 0)]
            _ = shard.ports.takeCalls()
            for _ in 0..<2 { shard.turn() }
            guard !isAlone else { break }
            #expect(
                shard.ports.takeCalls().contains(.askLetter(Shard.position(0), reason: "too large", isNameOnly: false)))
            shard.ports.letters = shard.ports.askedLetters.map { ($0, letter) }
            shard.turn()
        }
        let refusals = shard.ports.takeCalls().filter { if case .refuseCurrent = $0 { true } else { false } }
        expect(refusals, is: Array(repeating: .refuseCurrent(reason: "bad"), count: 2))
        shard.acknowledge()
        let calls = (0..<3).flatMap { _ in shard.callsOfTurn(after: .milliseconds(20)) }
        #expect(calls.contains(.transact(.commit)))
    }
}
