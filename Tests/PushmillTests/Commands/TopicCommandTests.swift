import Glibc
import PushmillKafka
import PushmillPayload
import PushmillReplay
import PushmillStages
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("capture, replay and redrive with topics")
struct TopicCommandTests {
    private let cluster: MockCluster
    private let folder: ConfigurationFolder

    init() throws { try self.init(brokers: 1) }

    /// Each topic has as many partitions as there are brokers.
    private init(brokers: Int) throws {
        cluster = try MockCluster(brokers: brokers)
        for topic in ["push.events", "push.notifications", "push.dead-letters"] {
            try cluster.createTopic(topic, partitions: brokers)
        }
        folder = try ConfigurationFolder(
            "{ kafka: { bootstrap.servers: \"\(cluster.bootstrapServers)\" }, state: { path: state }, stages: [] }")
    }

    private func publish(
        _ value: String, to topic: String, _ headers: [(String, String)] = [], partition: Int32 = 0
    ) throws {
        var record = RecordEnvelope()
        record.topic = topic
        record.partition = partition
        record.timestamp = 1000
        record.payload = Array(value.utf8)
        record.headers = headers.map { RecordEnvelope.Header(name: Array($0.0.utf8), value: Array($0.1.utf8)) }
        let sender = try RecordSender(ClientProperties([("bootstrap.servers", cluster.bootstrapServers)]))
        try sender.send(record, as: "a record")
        expect(sender.settle(patience: 300), is: [.acknowledged])
    }

    private func run(_ line: String, isTerminal: Bool = false) async -> (Terminal, ExitCode) {
        let terminal = Terminal(registry: StageRegistry(adding: []), isTerminal: isTerminal)
        let words = line.split(separator: " ", maxSplits: 1).map { String($0) }
        let rest = words.count > 1 ? words[1].replacing("FOLDER", with: folder.path) : ""
        return (terminal, await terminal.run(Program.commands, "\(words[0]) --config \(folder.file) \(rest)"))
    }

    @Test("A capture with --follow cannot have an end")
    func followTo() async {
        let (terminal, code) = await run("capture --follow --to 5")
        #expect(code == .usage && terminal.error.contains("--follow"))
    }

    @Test("A topic is captured, and replays against its published outputs")
    func replayed() async throws {
        let payload = #"{"aps":{"alert":"x"}}"#
        try publish(payload, to: "push.events")
        let (terminal, code) = await run("capture")
        expect(code, is: .success)
        #expect(
            terminal.output.hasPrefix(#"{"topic":"push.events","partition":0,"offset":0,"tstype":"create","ts":1000,"#))
        let stages = [("pushmill-outcome", "passed"), ("pushmill-source", "push.events/0/0"), ("pushmill-stages", "")]
        try publish(payload, to: "push.notifications", stages)
        let replay = "replay topic:push.events --baseline topic:push.notifications"
        await expect(run("\(replay) --ignore header:apns-id").1, is: .success)
        let (different, found) = await run(replay)
        expect(found, is: .different)
        #expect(different.output.contains("header:apns-id changed in 1 of 1"))
        #expect(different.error.isEmpty)
        // Other programs may write there too.
        try publish("probe", to: "push.notifications")
        let (beside, same) = await run("\(replay) --ignore header:apns-id")
        expect(same, is: .success)
        expect(beside.error, is: "1 records of the baseline have no pushmill-source: ignored")
        cluster.setTopicError("push.notifications", code: 29)
        await expect(run(replay).1, is: .badData)
    }

    @Test(
        "If no broker answers, the error names the brokers and what to check",
        arguments: [
            ("capture", ExitCode.internalFailure), ("badges export", .internalFailure),
            ("replay topic:push.events --baseline topic:push.notifications", .badData),
        ])
    func nobodyAnswers(command: String, expected: ExitCode) async {
        let terminal = Terminal()
        // A command that only reads needs no secret of the producer.
        let code = await terminal.run(
            Program.commands, "\(command) --config \(folder.file)",
            environment: [
                "PUSHMILL_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
                "PUSHMILL_KAFKA_PRODUCER_SASL_PASSWORD_FILE": "/nowhere/password",
            ])
        expect(code, is: expected)
        let message = "no broker answers at 127.0.0.1:1: are they up, are kafka.bootstrap.servers and "
        #expect(terminal.error.hasPrefix("pushmill: \(message)"))
    }

    @Test("A partition that is named twice is read once")
    func partitionTwice() async throws {
        try publish("x", to: "push.events")
        let (terminal, code) = await run("capture --partition 0 --partition 0")
        expect(code, is: .success)
        expect(terminal.output.split(separator: "\n").count, is: 1)
    }

    @Test("Records read before a broker fails are kept, but do not replace an earlier file")
    func cutShort() async throws {
        let scene = try Self(brokers: 2)
        for partition: Int32 in 0...1 {
            scene.cluster.setLeader(of: TopicPartition("push.events", partition), broker: partition + 1)
            try scene.publish("x\(partition)", to: "push.events", partition: partition)
        }
        // OFFSET_OUT_OF_RANGE: the second broker's log has lost what was there a moment ago.
        scene.cluster.failRequests(.fetch, of: 2, with: 1, count: 1000)
        let (terminal, code) = await scene.run("capture --output FOLDER/new.jsonl")
        expect(code, is: .internalFailure)
        #expect(
            terminal.error.hasPrefix("1 records written to \(scene.folder.path)/new.jsonl: the capture is incomplete\n")
        )
        let kept = try scene.text(of: "new.jsonl")
        #expect(kept.contains(#""payload":"x0""#) && kept.split(separator: "\n").count == 1)

        let before = #"{"topic":"push.events","payload":"of before"}"# + "\n"
        try scene.folder.write("old.jsonl", before)
        await expect(scene.run("capture --output FOLDER/old.jsonl").1, is: .internalFailure)
        try expect(scene.text(of: "old.jsonl"), is: before)
        for left in ["new.jsonl.partial", "old.jsonl.partial"] {
            #expect(access("\(scene.folder.path)/\(left)", F_OK) != 0)
        }
    }

    @Test("A capture replaces an earlier capture or an empty file, and no other file")
    func replacing() async throws {
        try publish("x", to: "push.events")
        let configuration = try text(of: "pushmill.yaml")
        try folder.write("contacts.jsonl", #"{"id":"c1","name":"Zoë"}"#)
        for name in ["pushmill.yaml", "contacts.jsonl"] {
            let (terminal, code) = await run("capture --output FOLDER/\(name)")
            #expect(code == .usage && terminal.error.contains("'\(folder.path)/\(name)' is not a capture and would be"))
        }
        try expect(text(of: "pushmill.yaml"), is: configuration)
        try folder.write("capture.jsonl", "")
        expect(symlink("capture.jsonl", "\(folder.path)/link.jsonl"), is: 0)
        for name in ["capture.jsonl", "link.jsonl", "capture.jsonl.gz", "capture.jsonl.gz"] {
            await expect(run("capture --output FOLDER/\(name)").1, is: .success)
        }
        #expect(try text(of: "capture.jsonl").contains(#""payload":"x""#))
    }

    @Test("A capture shows its progress unless its records go to the terminal", .timeLimit(.minutes(1)))
    func waiting() async throws {
        let terminal = Terminal(registry: StageRegistry(adding: []))
        let capture = "capture --config \(folder.file) --follow --limit 1 --output \(folder.path)/capture.jsonl"
        async let code = terminal.run(Program.commands, capture)
        await terminal.waitForStatus()
        try publish("x", to: "push.events")
        await expect(code, is: .success)
        let bars = [String(repeating: " ", count: 30), String(repeating: "#", count: 30)]
        expect(Array(terminal.status.prefix(2)), is: ["[\(bars[0])] 0%  0 records", "[\(bars[1])] 100%  1 records"])
        await expect(run("capture", isTerminal: true).0.status, is: [])
        await expect(run("capture").0.status.first, is: "[\(bars[0])] 0%  0 records")
    }

    private func text(of file: String) throws -> String {
        String(decoding: try FileBytes(path: "\(folder.path)/\(file)").bytes, as: UTF8.self)
    }

    @Test("A range without records is bad data")
    func empty() async {
        let (terminal, code) = await run("capture --from 2h")
        expect(code, is: .badData)
        expect(terminal.error, is: "pushmill: topic push.events: no records in this range")
    }

    @Test("On a terminal redrive needs --send, and its journal is kept with the state")
    func redriven() async throws {
        try publish(
            "x", to: "push.dead-letters",
            [
                ("pushmill.error.reason", "not-json"), ("pushmill.error.topic", "push.events"),
                ("pushmill.error.partition", "0"), ("pushmill.error.offset", "7"), ("pushmill.error.attempt", "1"),
            ])
        let (dry, _) = await run("redrive", isTerminal: true)
        let notice = "there was no journal at \(folder.path)/state/state.sqlite.redriven: "
        #expect(dry.error.hasPrefix("1 would be sent (--send sends them)\n\(notice)"))
        expect(dry.output, is: "push.dead-letters/0/0  not-json  attempt 1  -> push.events/0")
        #expect(access("\(folder.path)/state", F_OK) != 0)
        #expect(await run("redrive --send", isTerminal: true).0.error.hasPrefix("1 sent\n\(notice)"))
        await expect(run("redrive").0.error, is: "0 sent, 1 already sent")
        #expect(await run("capture").0.output.contains(#""headers":["pushmill-attempt","1"]"#))
    }

    @Test("The numbers of sent and refused letters are printed before a refused letter's error")
    func refusedLetter() async throws {
        for (offset, value) in ["x", String(repeating: "x", count: 4000)].enumerated() {
            try publish(
                value, to: "push.dead-letters",
                [
                    ("pushmill.error.reason", "not-json"), ("pushmill.error.topic", "push.events"),
                    ("pushmill.error.partition", "0"), ("pushmill.error.offset", "\(offset)"),
                    ("pushmill.error.attempt", "1"),
                ])
        }
        let terminal = Terminal(registry: StageRegistry(adding: []))
        let code = await terminal.run(
            Program.commands, "redrive --config \(folder.file)",
            environment: ["PUSHMILL_KAFKA_PRODUCER_MESSAGE_MAX_BYTES": "2000"])
        expect(code, is: .internalFailure)
        let lines = terminal.error.split(separator: "\n")
        expect(lines.first, is: "1 sent, 1 refused by the brokers")
        expect(lines.last?.hasPrefix("pushmill: sending push.dead-letters/0/1: "), is: true)
    }

    @Test("Control characters in a letter are escaped")
    func strangeLetter() async throws {
        try publish(
            "x", to: "push.dead-letters",
            [
                ("pushmill.error.reason", "\u{1B}[2Jnot-json"), ("pushmill.error.topic", "\u{1B}[2Jelsewhere"),
                ("pushmill.error.partition", "0"), ("pushmill.error.offset", "7"), ("pushmill.error.attempt", "1"),
            ])
        let (terminal, _) = await run("redrive --dry-run")
        expect(terminal.output, is: "push.dead-letters/0/0  \\u{1B}[2Jnot-json  attempt 1  from another topic")
    }
}
