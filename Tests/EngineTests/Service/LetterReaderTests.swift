import PushmillKafka
import PushmillStages
import PushmillTelemetry
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Dead letters of released messages, with an embedded broker")
struct LetterReaderTests {
    private let peer: ServicePeer

    init() throws { peer = try ServicePeer() }

    /// Asks for the dead letter of the input's record, as one with that timestamp.
    private func request(
        timestamp: Int64 = 5, tag: UInt64 = 3, reason: String = "bad", isNameOnly: Bool = false, isCounted: Bool = true
    ) -> LetterRequest {
        LetterRequest(
            source: Position(TopicPartition("events", 0), offset: 0), timestamp: timestamp, tag: tag, reason: reason,
            isNameOnly: isNameOnly, isCounted: isCounted)
    }

    @Test("A dead letter waits for its record while the partition's leader is unavailable")
    func leaderless() throws {
        let letters = LetterReader(peer.settings, peer.environment, peer.inbox, attempts: 1)
        peer.setLeader(of: "events", broker: -1)
        letters.ask(for: request())
        var answers: [(tag: UInt64, output: HeldOutput)] = []
        // Several tries.
        for _ in 0..<4 {
            peer.inbox.signal.wait(nanoseconds: 1_000_000_000)
            answers += letters.take()
        }
        try #require(answers.isEmpty)
        peer.setLeader(of: "events", broker: 1)
        for _ in 0..<120 where answers.isEmpty {
            peer.inbox.signal.wait(nanoseconds: 1_000_000_000)
            answers += letters.take()
        }
        try expect(#require(answers.first).output.record.value, is: Array(ServicePeer.value.utf8))
    }

    @Test("If no thread can be started, every dead letter only names its message")
    func noThread() throws {
        let letters = LetterReader(
            peer.settings, peer.environment, peer.inbox,
            start: { (_, _) throws(TelemetryError) in throw TelemetryError.noThread(11) })
        var answers: [(tag: UInt64, output: HeldOutput)] = []
        for tag: UInt64 in 7...8 {
            letters.ask(for: request(tag: tag))
            answers += letters.take()
        }
        expect(answers.map(\.tag), is: [7, 8])
        for answer in answers {
            #expect(answer.output.isLetter && answer.output.record.key == Array("events/0/0".utf8))
            #expect(answer.output.record.value == nil)
        }
        #expect(peer.lines.contains("cannot start a thread for dead letters: they only name their messages"))
    }

    @Test("The dead letter of an output that was refused for its timestamp has the time of now, and is whole")
    func refusedTimestamp() throws {
        let letters = LetterReader(peer.settings, peer.environment, peer.inbox)
        letters.ask(for: request(reason: "INVALID_TIMESTAMP"))
        var answers: [(tag: UInt64, output: HeldOutput)] = []
        for _ in 0..<60 where answers.isEmpty {
            peer.inbox.signal.wait(nanoseconds: 1_000_000_000)
            answers += letters.take()
        }
        let output = try #require(answers.first).output
        expect(output.record.value, is: Array(ServicePeer.value.utf8))
        #expect(output.record.timestamp > 1_700_000_000_000 && output.facts.timestamp == output.record.timestamp)
    }

    @Test(
        "A released message's dead letter is its record, unless another record has its offset",
        arguments: [(5, false, true), (6, false, false), (5, true, false)] as [(Int64, Bool, Bool)])
    func letter(timestamp: Int64, isNameOnly: Bool, isWhole: Bool) throws {
        let peer = try ServicePeer(links: [ChainLink(BadgeStage(mode: .increment))])
        let letters = LetterReader(peer.settings, peer.environment, peer.inbox)
        letters.ask(for: request(timestamp: timestamp, isNameOnly: isNameOnly, isCounted: !isNameOnly))
        var answers: [(tag: UInt64, output: HeldOutput)] = []
        for _ in 0..<60 where answers.isEmpty {
            peer.inbox.signal.wait(nanoseconds: 1_000_000_000)
            answers += letters.take()
        }
        let answer = try #require(answers.first)
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
