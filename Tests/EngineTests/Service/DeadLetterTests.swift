import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Dead letters of released messages, with an embedded broker")
struct DeadLetterTests {
    private let peer: ServicePeer

    init() throws { peer = try ServicePeer() }

    private typealias Letter = (tag: UInt64, output: HeldOutput)

    /// Asks for the dead letter of the input's record, as one with that timestamp.
    private func request(
        timestamp: Int64 = 5, tag: UInt64 = 3, reason: String = "bad", isNameOnly: Bool = false, isCounted: Bool = true
    ) -> LetterRequest {
        LetterRequest(
            source: Position(TopicPartition("events", 0), offset: 0), timestamp: timestamp, tag: tag, reason: reason,
            isNameOnly: isNameOnly, isCounted: isCounted)
    }

    private func ports(of peer: ServicePeer) throws -> KafkaPorts {
        try KafkaPorts(peer.settings, peer.environment, peer.inbox)
    }

    /// Takes letters for that many seconds, or until there is one.
    private func letters(seconds: Int, by ports: inout KafkaPorts, _ peer: ServicePeer) -> [Letter] {
        let end = ContinuousClock.now + .seconds(seconds)
        var letters: [Letter] = []
        while letters.isEmpty, .now < end {
            peer.inbox.signal.wait(nanoseconds: 100_000_000)
            letters = ports.takeLetters()
        }
        return letters
    }

    @Test("A dead letter waits for its record while the partition's leader is unavailable")
    func leaderless() throws {
        var ports = try ports(of: peer)
        peer.setLeader(of: "events", broker: -1)
        ports.ask(for: request())
        // Several tries.
        try #require(letters(seconds: 4, by: &ports, peer).isEmpty)
        peer.setLeader(of: "events", broker: 1)
        let output = try #require(letters(seconds: 120, by: &ports, peer).first).output
        expect(output.record.value, is: Array(ServicePeer.value.utf8))
    }

    @Test("The dead letter of a partition that is given back is not made")
    func givenBack() throws {
        var ports = try ports(of: peer)
        peer.setLeader(of: "events", broker: -1)
        ports.ask(for: request(tag: 7))
        ports.giveBack([TopicPartition("events", 0)])
        peer.setLeader(of: "events", broker: 1)
        ports.ask(for: request(tag: 8))
        expect(letters(seconds: 120, by: &ports, peer).map(\.tag), is: [8])
    }

    @Test("The dead letter of an output that was refused for its timestamp has the time of now, and is whole")
    func refusedTimestamp() throws {
        var ports = try ports(of: peer)
        ports.ask(for: request(reason: "INVALID_TIMESTAMP"))
        let output = try #require(letters(seconds: 60, by: &ports, peer).first).output
        expect(output.record.value, is: Array(ServicePeer.value.utf8))
        #expect(output.record.timestamp > 1_700_000_000_000 && output.facts.timestamp == output.record.timestamp)
    }

    @Test(
        "A released message's dead letter is its record, unless another record has its offset",
        arguments: [(5, false, true), (6, false, false), (5, true, false)] as [(Int64, Bool, Bool)])
    func letter(timestamp: Int64, isNameOnly: Bool, isWhole: Bool) throws {
        let peer = try ServicePeer(links: [ChainLink(BadgeStage(mode: .increment))])
        var ports = try ports(of: peer)
        ports.ask(for: request(timestamp: timestamp, isNameOnly: isNameOnly, isCounted: !isNameOnly))
        let answer = try #require(letters(seconds: 60, by: &ports, peer).first)
        #expect(answer.tag == 3 && answer.output.isLetter)
        let record = answer.output.record
        // A letter that only names its message has a key and a timestamp that every topic accepts.
        expect(record.key, is: Array((isWhole ? "anna" : "events/0/0").utf8))
        expect(record.value, is: (isWhole ? Array(ServicePeer.value.utf8) : nil))
        #expect(isWhole ? record.timestamp == timestamp : record.timestamp > 1_700_000_000_000)
        let headers = record.headers
        let count = headers.view?.count
        // The headers of a dead letter, the record's own, and that it was counted.
        expect(count, is: (isWhole ? 11 : isNameOnly ? 9 : 10))
        let isGone = !isWhole && !isNameOnly
        expect(peer.lines.contains("the record of a refused output is no longer in the log"), is: isGone)
    }
}
