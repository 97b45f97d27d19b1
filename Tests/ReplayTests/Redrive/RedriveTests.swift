import Glibc
import PushmillKafka
import PushmillPayload
import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillReplay

@Suite("Redrive", .ownThread)
struct RedriveTests {
    private let broker: Broker
    private let folder: TemporaryFolder

    init() throws {
        broker = try Broker(topics: [("events", 4), ("dead", 1)])
        folder = try TemporaryFolder()
    }

    private func letter(
        _ payload: [UInt8]?, key: String? = "anna", reason: String = "not-json", attempt: Int = 1, offset: Int = 7,
        topic: String = "events", time: Int64 = 1_700_000_000_000, more: [(String, String)] = []
    ) -> RecordEnvelope {
        var record = RecordEnvelope(
            nil, key: key,
            headers: [("locale", "de"), ("pushmill-attempt", "\(attempt - 1)")] + more + [
                ("pushmill-outcome", "dead-letter"), ("pushmill-source", "\(topic)/3/\(offset)"),
                ("pushmill.error.reason", reason), ("pushmill.error.message", "?"), ("pushmill.error.stage", "decode"),
                ("pushmill.error.topic", topic), ("pushmill.error.partition", "3"),
                ("pushmill.error.offset", "\(offset)"), ("pushmill.error.attempt", "\(attempt)"),
            ], timestamp: time)
        record.payload = payload
        return record
    }

    private func redrive(
        to input: String = "events", _ change: (inout Redrive) -> Void = { _ in },
        report: (DeadLetter, Redrive.Fate) -> Void = { _, _ in }
    ) async throws -> Redrive.Tally {
        var redrive = Redrive()
        redrive.isDry = false
        change(&redrive)
        let source = try TopicRecords(TopicRange(topic: "dead"), broker.properties)
        return try await redrive.run(
            source, to: [input], journal: "\(folder.path)/journal", broker.properties, broker.properties,
            report: report)
    }

    private func input() async throws -> [RecordEnvelope] { try await broker.read(TopicRange(topic: "events")) }

    @Test("A dead letter is sent back unchanged, binary or not, with its attempt number")
    func restored() async throws {
        let bytes: [UInt8] = [0, 255, 128, 10, 13]
        try broker.publish([letter(bytes, attempt: 2, more: [("pushmill-counted", "true")])], to: "dead")
        try await expect(redrive(), is: [.sent: 1])
        let back = try #require(try await input().first)
        expect(back.payload, is: bytes)
        expect(back.key, is: Array("anna".utf8))
        expect(back.partition, is: 3)
        expect(back.timestamp, is: 1_700_000_000_000)
        let headers = back.headers.map { header in
            "\(String(decoding: header.name, as: UTF8.self))=\(String(decoding: header.value ?? [], as: UTF8.self))"
        }
        expect(headers, is: ["locale=de", "pushmill-counted=true", "pushmill-attempt=2"])
    }

    @Test("A badge that was counted before the dead letter is not counted again")
    func counted() async throws {
        let payload = #"{"aps":{"alert":"x","mutable-content":1,"badge":1}}"#
        let letters = [
            letter(Array(payload.utf8), reason: "publish-failed", offset: 1),
            letter(Array(payload.utf8), reason: "publish-failed", offset: 2, more: [("pushmill-counted", "true")]),
        ]
        try broker.publish(letters, to: "dead")
        try await expect(redrive(), is: [.sent: 2])
        let badges = try await Scene().outputs(try await input()).map { output in
            NotificationContent(output)?.badge
        }
        expect(badges, is: [1, 1])
    }

    @Test("Letters sent before one whose topic is refused are remembered and not sent again")
    func broken() async throws {
        try broker.cluster.createTopic("refused", partitions: 1)
        broker.cluster.setTopicError("refused", code: 29)
        try broker.publish((0..<3).map { letter([1], offset: $0) } + [letter([2], topic: "refused")], to: "dead")
        var told: [Redrive.Fate] = []
        func redriveBoth() async throws -> Redrive.Tally {
            var redrive = Redrive()
            redrive.isDry = false
            let source = try TopicRecords(TopicRange(topic: "dead"), broker.properties)
            return try await redrive.run(
                source, to: ["events", "refused"], journal: "\(folder.path)/journal", broker.properties,
                broker.properties, report: { told.append($1) })
        }
        await #expect(throws: ReplayError.self) { try await redriveBoth() }
        // The refused letter is not reported as sent.
        expect(told, is: [.sent, .sent, .sent])
        broker.cluster.setTopicError("refused", code: 0)
        try await expect(redriveBoth(), is: [.done: 3, .sent: 1])
        try await expect(input().count, is: 3)
    }

    @Test("Letters that were sent are remembered and not sent again")
    func resumed() async throws {
        try broker.publish((0..<5).map { letter([1], offset: $0) }, to: "dead")
        try await expect(redrive { $0.isDry = true }, is: [.sent: 5])
        #expect(try await input().isEmpty)
        try await expect(redrive(), is: [.sent: 5])
        try await expect(redrive(), is: [.done: 5])
        try broker.publish([letter([1], offset: 9)], to: "dead")
        try await expect(redrive(), is: [.done: 5, .sent: 1])
        try await expect(input().count, is: 6)
    }

    @Test("A second letter of a redriven record stays, even if a filter selects only it")
    func repeatedForAnotherReason() async throws {
        try broker.publish([letter([1]), letter([1], reason: "too-deep")], to: "dead")
        try await expect(redrive { $0.reasons = ["not-json"] }, is: [.sent: 1])
        try await expect(redrive { $0.reasons = ["too-deep"] }, is: [.repeated: 1])
        try await expect(input().count, is: 1)
    }

    @Test("A redrive that is told to end remembers what it has sent first")
    func over() async throws {
        try broker.publish((0..<501).map { letter([1], offset: $0) }, to: "dead")
        var redrive = Redrive()
        redrive.isDry = false
        var told = 0
        let source = try TopicRecords(TopicRange(topic: "dead"), broker.properties)
        let tally = try await redrive.run(
            source, to: ["events"], journal: "\(folder.path)/journal", broker.properties, broker.properties,
            isOver: { told > 0 }, report: { _, _ in told += 1 })
        // The redrive ends after the first batch, of at most 500 letters.
        #expect((1...500).contains(told) && tally == [.sent: told])
        try await expect(self.redrive(), is: [.done: told, .sent: 501 - told])
    }

    @Test("A redrive that is told to end remembers acknowledged letters even if others get no answer")
    func unanswered() async throws {
        var first = letter([1])
        first.setHeader("pushmill.error.partition", to: "0")
        try broker.publish([first, letter([2], offset: 8)], to: "dead")
        let other = TopicPartition("events", 3)
        func redriveUntilStored() async throws {
            var redrive = Redrive()
            (redrive.isDry, redrive.patience) = (false, 1)
            var properties = broker.properties
            // Without a leader, and with no message timeout, an answer never comes.
            properties["message.timeout.ms"] = "0"
            let reader = try PartitionReader(broker.properties, log: { _, _, _ in })
            var asked = 0
            _ = try await redrive.run(
                try TopicRecords(TopicRange(topic: "dead"), broker.properties), to: ["events"],
                journal: "\(folder.path)/journal", properties, broker.properties,
                isOver: {
                    let range = try? reader.range(of: TopicPartition("events", 0), milliseconds: 10_000)
                    if range?.upperBound == 1 { asked += 1 }
                    // The acknowledgment comes after the record is stored, on a busy machine some time after.
                    return asked > 50
                })
        }
        broker.cluster.setLeader(of: other, broker: -1)
        await #expect(throws: ReplayError.self) { try await redriveUntilStored() }
        broker.cluster.setLeader(of: other, broker: 1)
        try await expect(redrive(), is: [.done: 1, .sent: 1])
    }

    @Test(
        "A redrive told to end does so with a full queue and no broker answering", .timeLimit(.minutes(1)))
    func fullQueue() async throws {
        try broker.publish((0..<3).map { letter([1], offset: $0) }, to: "dead")
        func redriveUntilFull() async throws {
            var redrive = Redrive()
            (redrive.isDry, redrive.patience) = (false, 1)
            var properties = broker.properties
            properties["message.timeout.ms"] = "0"
            properties["queue.buffering.max.messages"] = "1"
            var asked = 0
            _ = try await redrive.run(
                try TopicRecords(TopicRange(topic: "dead"), broker.properties), to: ["events"],
                journal: "\(folder.path)/journal", properties, broker.properties,
                isOver: {
                    asked += 1
                    return asked > 10
                })
        }
        let place = TopicPartition("events", 3)
        broker.cluster.setLeader(of: place, broker: -1)
        await #expect(throws: ReplayError.self) { try await redriveUntilFull() }
        broker.cluster.setLeader(of: place, broker: 1)
        try await expect(redrive(), is: [.sent: 3])
    }

    @Test("After a journal line that a full disk cut off, letters are still remembered")
    func torn() async throws {
        try broker.publish((0..<2).map { letter([1], offset: $0) }, to: "dead")
        try await expect(redrive(), is: [.sent: 2])
        let lines = String(decoding: try FileBytes(path: "\(folder.path)/journal").bytes, as: UTF8.self)
        try folder.write(String(lines.dropLast(4)), to: "journal")
        try await expect(redrive(), is: [.done: 1, .sent: 1])
        try await expect(redrive(), is: [.done: 2])
    }

    @Test("A letter goes to its old partition, or by its key if that partition is gone")
    func smaller() async throws {
        try broker.cluster.createTopic("small", partitions: 2)
        let keys = ["anna", "boris", "carl"]
        var letters = keys.enumerated().map { letter([UInt8($0)], key: $1, offset: $0, topic: "small") }
        letters.append(letter([9], key: "anna", offset: 9, topic: "small"))
        letters[3].setHeader("pushmill.error.partition", to: "0")
        try broker.publish(letters, to: "dead")
        try await expect(redrive(to: "small"), is: [.sent: 4])
        let back = try await broker.read(TopicRange(topic: "small"))
        func partition(of payload: UInt8) -> Int32? { back.first { $0.payload == [payload] }?.partition }
        let places = keys.map { key in
            Array(key.utf8).withUnsafeBytes { TopicPartition(of: $0, in: "small", partitions: 2).partition }
        }
        expect(places, is: [1, 0, 0])
        expect((0..<3).compactMap { partition(of: $0) }, is: places)
        // By its key it would be in partition 1.
        expect(partition(of: 9), is: 0)
    }

    @Test("The next release's journal is read, and a later one refused before anything is sent")
    func journals() async throws {
        try broker.publish((0..<2).map { letter([1], offset: $0) }, to: "dead")
        try await expect(redrive(), is: [.sent: 2])
        let path = "\(folder.path)/journal"
        let lines = String(decoding: try FileBytes(path: path).bytes, as: UTF8.self)
        let next = lines.split(separator: "\n").map { "\($0) by=redrive\n" }.joined()
        try folder.write("#redrive-journal 2\n\(next)", to: "journal")
        try await expect(redrive(), is: [.done: 2])
        try broker.publish([letter([1], offset: 2)], to: "dead")
        try await expect(redrive(), is: [.done: 2, .sent: 1])
        try await expect(redrive(), is: [.done: 3])
        try folder.write("#redrive-journal 3\n\(next)", to: "journal")
        let error = await #expect(throws: ReplayError.self) { try await redrive() }
        expect(error.map { "\($0)".contains("written by a newer release") }, is: true)
        try await expect(input().count, is: 3)
    }

    @Test(
        "A damaged or foreign file is no journal: nothing is sent, and it stays as it is",
        arguments: [
            "dead/0/0\n", "dead/0/0 now\n", "dead/0 1\n", "{\"owner\":\"anna\"}\n", "\0\0\0\0", "\u{1B}",
            "dead/0/0 1\ndead/0\ndead/0/2 1\n",
        ])
    func damaged(_ content: String) async throws {
        try broker.publish([letter([1])], to: "dead")
        let path = try folder.write(content, to: "journal")
        let error = await #expect(throws: ReplayError.self) { try await redrive() }
        expect(error.map { "\($0)".contains("not a letter that was sent") }, is: true)
        try expect(FileBytes(path: path).bytes, is: Array(content.utf8))
        #expect(try await input().isEmpty)
    }

    @Test("Lines that end as on Windows are known, and half a last line is replaced")
    func lineEnds() async throws {
        try broker.publish((0..<2).map { letter([1], offset: $0) }, to: "dead")
        try await expect(redrive(), is: [.sent: 2])
        let lines = String(decoding: try FileBytes(path: "\(folder.path)/journal").bytes, as: UTF8.self)
        try folder.write(lines.replacing("\n", with: "\r\n") + "dead/0", to: "journal")
        try await expect(redrive(), is: [.done: 2])
        try broker.publish([letter([1], offset: 2)], to: "dead")
        try await expect(redrive(), is: [.done: 2, .sent: 1])
        // A whole line without its end stays.
        let now = String(decoding: try FileBytes(path: "\(folder.path)/journal").bytes, as: UTF8.self)
        try folder.write(String(now.dropLast()), to: "journal")
        try broker.publish([letter([1], offset: 3)], to: "dead")
        try await expect(redrive(), is: [.done: 3, .sent: 1])
        try await expect(redrive(), is: [.done: 4])
    }

    @Test("While another run holds the journal nothing is sent, but a dry run works")
    func twoAtOnce() async throws {
        try broker.publish([letter([1])], to: "dead")
        do {
            let other = try RedriveJournal(path: "\(folder.path)/journal", isDry: false)
            await #expect(throws: ReplayError.index(.inUse(path: "\(folder.path)/journal"))) { try await redrive() }
            try await expect(redrive { $0.isDry = true }, is: [.sent: 1])
            withExtendedLifetime(other) {}
        }
        #expect(try await input().isEmpty)
        try await expect(redrive(), is: [.sent: 1])
    }

    @Test("A pipe is no journal: reading it would wait for a writer")
    func pipe() async throws {
        try broker.publish([letter([1])], to: "dead")
        try #require(mkfifo("\(folder.path)/journal", 0o600) == 0)
        let error = await #expect(throws: ReplayError.self) { try await redrive() }
        expect(error.map { "\($0)".hasSuffix("journal: not a file") }, is: true)
    }

    @Test("A letter that the brokers refuse is not remembered")
    func refused() async throws {
        try broker.publish([letter([1])], to: "dead")
        // 17 INVALID_TOPIC_EXCEPTION: a permanent error.
        broker.cluster.failRequests(.produce, with: [17])
        await #expect(throws: ReplayError.self) { try await redrive() }
        try expect(FileBytes(path: "\(folder.path)/journal").bytes, is: [])
        broker.cluster.clearFailures(of: .produce)
        try await expect(redrive(), is: [.sent: 1])
    }

    @Test("A record with two equal letters is sent back once, also over several runs")
    func repeated() async throws {
        try broker.publish([letter([1]), letter([1]), letter([2]), letter([1], attempt: 2)], to: "dead")
        try await expect(redrive { $0.isDry = true }, is: [.sent: 3, .repeated: 1])
        try await expect(redrive(), is: [.sent: 3, .repeated: 1])
        try await expect(redrive(), is: [.done: 3, .repeated: 1])
        try await expect(input().map(\.payload), is: [[1], [2], [1]])
    }

    @Test("A letter that brokers refuse shares its batch with no other")
    func refusedBatch() async throws {
        try broker.publish((0..<3).map { letter([1], offset: $0) }, to: "dead")
        // 10 MESSAGE_TOO_LARGE: a permanent error.
        broker.cluster.failRequests(.produce, with: [10])
        var told: [Redrive.Fate] = []
        let error = await #expect(throws: ReplayError.self) { try await redrive(report: { told.append($1) }) }
        expect(error?.description.hasPrefix("sending dead/0/0: "), is: true)
        expect(told, is: [.refused, .sent, .sent])
        try await expect(input().count, is: 2)
        try await expect(redrive(), is: [.done: 2, .sent: 1])
    }

    @Test("A letter that is refused for good stops no other and is reported at the end")
    func refusedAlone() async throws {
        let large = letter([UInt8](repeating: 1, count: 4000), offset: 1000)
        try broker.publish([large] + (0..<501).map { letter([1], offset: $0) }, to: "dead")
        var refused: [String] = []
        func redriveSmall() async throws -> Redrive.Tally {
            var (redrive, properties) = (Redrive(), broker.properties)
            redrive.isDry = false
            properties["message.max.bytes"] = "2000"
            let source = try TopicRecords(TopicRange(topic: "dead"), broker.properties)
            return try await redrive.run(
                source, to: ["events"], journal: "\(folder.path)/journal", properties, broker.properties,
                report: { if $1 == .refused { refused.append($0.record.place) } })
        }
        let error = await #expect(throws: ReplayError.self) { try await redriveSmall() }
        expect(error?.description.hasPrefix("sending dead/0/0: "), is: true)
        expect(refused, is: ["dead/0/0"])
        try await expect(redrive(), is: [.done: 501, .sent: 1])
    }

    @Test("If brokers refuse the producer, the error is theirs, not that of the returned letters")
    func refusedProducer() async throws {
        try broker.publish([letter([1])], to: "dead")
        broker.cluster.failRequests(.initProducerID, with: [31])
        let error = await #expect(throws: ReplayError.self) { try await redrive() }
        expect(error?.description.contains("CLUSTER_AUTHORIZATION_FAILED"), is: true)
        try await expect(redrive(), is: [.sent: 1])
    }

    @Test("Letters are retried up to a limit, and those that cannot go back are classified")
    func fates() async throws {
        let letters = [
            letter([1], attempt: 3), letter([1], attempt: 4), letter([1], topic: "elsewhere"),
            letter(nil, reason: "publish-failed"), letter(nil, reason: "null-value"), RecordEnvelope("x"),
        ]
        try broker.publish(letters, to: "dead")
        let tally = try await redrive()
        expect(tally, is: [.sent: 2, .exhausted: 1, .foreign: 1, .empty: 1, .unreadable: 1])
        try await expect(input().map(\.payload), is: [[1], nil])
    }

    @Test("Filters select letters by reason, key or time")
    func filtered() async throws {
        let letters = [
            letter([1], key: "anna", reason: "not-json", time: 1000),
            letter([2], key: "bert", reason: "no-aps", time: 2000),
            letter([3], key: "anna", reason: "no-aps", time: 3000),
        ]
        try broker.publish(letters, to: "dead")
        try await expect(redrive { ($0.isDry, $0.reasons) = (true, ["no-aps"]) }, is: [.sent: 2])
        try await expect(redrive { ($0.isDry, $0.since, $0.until) = (true, 1500, 3000) }, is: [.sent: 1])
        try await expect(redrive { $0.keys = [Array("bert".utf8)] }, is: [.sent: 1])
        try await expect(input().map(\.payload), is: [[2]])
    }
}
