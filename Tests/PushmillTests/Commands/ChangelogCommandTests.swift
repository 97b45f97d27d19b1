import PushmillKafka
import PushmillPayload
import PushmillReplay
import PushmillStages
import PushmillStores
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("Commands on counts in a changelog")
struct ChangelogCommandTests {
    private let cluster: MockCluster
    private let folder: ConfigurationFolder

    init() throws {
        cluster = try MockCluster()
        for topic in ["push.events", "push.badges"] { try cluster.createTopic(topic, partitions: 5) }
        folder = try ConfigurationFolder(
            """
            kafka: { bootstrap.servers: "\(cluster.bootstrapServers)" }
            delivery: { guarantee: exactly-once }
            state: { path: nowhere }
            stages: [badge: { mode: increment }]
            """)
    }

    private func run(_ command: String) async -> (code: ExitCode, output: String, error: String) {
        let terminal = Terminal(registry: StageRegistry(adding: []))
        let words = command.split(separator: " ").map { String($0) }
        let rest = words.dropFirst(2).joined(separator: " ")
        let line = "\(words[0]) \(words[1]) --config \(folder.file) \(rest)"
        return (await terminal.run(Program.commands, line), terminal.output, terminal.error)
    }

    private func expect(_ command: String, _ output: String) async {
        let ran = await run(command)
        #expect(ran.code == .success, "\(command): \(ran.error)")
        #expect(ran.output == output, "\(command)")
    }

    @Test("Counts are set, shown, exported and deleted")
    func life() async {
        await expect("badges set anna 5 --app com.x", "")
        await expect("badges set anna 3", "")
        await expect("badges set anna 7", "")
        await expect("badges set boris 1", "")
        await expect("badges set boris 0", "")
        await expect("badges set carl 2", "")
        let anna =
            #"{"recipient":"anna","app":"","count":7}"# + "\n"
            + #"{"recipient":"anna","app":"com.x","count":5}"# + "\n"
        await expect("badges get anna", anna)
        let all = await run("badges export").output
        #expect(Set(all.split(separator: "\n")) == Set((anna + Self.carl).split(separator: "\n")))
        await expect("badges delete anna", "2 counts deleted")
        await expect("badges export", Self.carl)
        let gone = await run("badges get anna")
        #expect(gone.output.isEmpty && gone.error == "no counts for this recipient")
    }

    private static let carl = #"{"recipient":"carl","app":"","count":2}"# + "\n"

    @Test("A count goes to the partition of its recipient's key unless one is named")
    func named() async {
        await expect("badges set carl 2 --partition 3", "")
        await expect("badges set foobar 1", "")
        await expect("badges get foobar --partition 1", #"{"recipient":"foobar","app":"","count":1}"# + "\n")
        await expect("badges get carl --partition 3", Self.carl)
        #expect(await run("badges get carl --partition 4").output.isEmpty)
        // Without --partition, counts are found in the partition that has them.
        await expect("badges get carl", Self.carl)
        await expect("badges set carl 4", "")
        let changed = #"{"recipient":"carl","app":"","count":4}"# + "\n"
        await expect("badges get carl --partition 3", changed)
        // The first count of another app goes to the same partition.
        await expect("badges set carl 6 --app com.x", "")
        await expect("badges get carl --partition 3", changed + #"{"recipient":"carl","app":"com.x","count":6}"# + "\n")
        await expect("badges set carl 1 --partition 2", "")
        let twice = await run("badges set carl 5")
        #expect(twice.code == .badData && twice.error.contains("counts are in push.badges/2 and in push.badges/3"))
        await expect("badges delete carl", "3 counts deleted")
        await expect("badges get carl", "")
        let beyond = await run("badges get carl --partition 5")
        #expect(beyond.code == .usage)
        #expect(beyond.error.contains("the topic push.badges has 5 partitions, numbered from 0"))
    }

    @Test("A recipient that is not UTF-8 is named in base64, as in the export")
    func encoded() async {
        let line = #"{"recipient_b64":"/wD+","app":"","count":4}"# + "\n"
        await expect("badges set --base64 /wD+ 4", "")
        await expect("badges export", line)
        await expect("badges get --base64 /wD+", line)
        await expect("badges set /wD+ 9", "")
        await expect("badges delete --base64 /wD+", "1 counts deleted")
        // "anna"
        await expect("badges set anna 1", "")
        await expect("badges delete --base64 YW5uYQ==", "1 counts deleted")
        await expect("badges export", #"{"recipient":"/wD+","app":"","count":9}"# + "\n")
        let mistake = await run("badges get --base64 anna!")
        #expect(mistake.code == .usage && mistake.error.contains("RECIPIENT: expected base64, found 'anna!'"))
    }

    @Test("A recipient too long for any event to count gets no count")
    func nobody() async {
        for (length, code) in [(4092, .success), (4093, .usage)] as [(Int, ExitCode)] {
            let recipient = String(repeating: "x", count: length)
            let ran = await run("badges set \(recipient) 1 --app a.bc")
            #expect(ran.code == code, "\(ran.error)")
        }
        await #expect(run("badges export").output.split(separator: "\n").count == 1)
    }

    private func publish(_ record: RecordEnvelope) throws {
        let sender = try RecordSender(ClientProperties([("bootstrap.servers", cluster.bootstrapServers)]))
        try sender.send(record, as: "a record")
        #expect(sender.settle(patience: 300) == [.acknowledged])
    }

    @Test("A topic with other records and no count is no changelog: no count is written into it")
    func foreign() async throws {
        var other = RecordEnvelope()
        (other.topic, other.partition) = ("push.badges", 3)
        (other.key, other.payload) = (Array("user-1".utf8), Array("{}".utf8))
        try publish(other)
        for command in ["set anna 5", "get anna", "delete anna"] {
            let ran = await run("badges \(command)")
            let refusal = "the topic push.badges has records, but no counts: correct topics.badge-changelog"
            #expect(ran.code == .badData && ran.error.contains(refusal), "\(command): \(ran.error)")
        }
        let place = Array("boris".utf8).withUnsafeBytes { TopicPartition(of: $0, in: "push.badges", partitions: 5) }
        try publish(RecordEnvelope([0, 0, 0, 5] + Array("boris".utf8), CountState(count: 2), in: place))
        await expect("badges set anna 5", "")
        await expect("badges get anna", #"{"recipient":"anna","app":"","count":5}"# + "\n")
    }

    @Test("Counts that a newer release has written are neither shown nor overwritten", arguments: ["get", "set"])
    func newer(command: String) async throws {
        let place = Array("anna".utf8).withUnsafeBytes { TopicPartition(of: $0, in: "push.badges", partitions: 5) }
        var change = RecordEnvelope([0, 0, 0, 4] + Array("anna".utf8), CountState(count: 0), in: place)
        change.payload = Array("v3 9".utf8)
        try publish(change)
        let ran = await run("badges \(command) anna\(command == "set" ? " 1" : "")")
        #expect(ran.code == .badData && ran.error.contains("\(place)/0: a count of unknown version 3: use the release"))
    }

    @Test(
        "A key's partition is the one that Java clients choose",
        arguments: [("21", 0), ("foobar", 1), ("a-little-bit-long-string", 2), ("abc", 2)] as [(String, Int32)])
    func partition(key: String, partition: Int32) throws {
        let found = Array(key.utf8).withUnsafeBytes { TopicPartition(of: $0, in: "t", partitions: 5) }
        #expect(found == TopicPartition("t", partition))
    }
}
