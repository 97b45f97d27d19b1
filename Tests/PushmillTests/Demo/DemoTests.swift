import FoundationEssentials
import PushmillKafka
import PushmillPayload
import PushmillTestSupport
import Testing

@testable import Pushmill
@testable import PushmillDemo

@Suite("The demo")
struct DemoTests {
    /// The top of the repository.
    private let top = #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }

    private func text(_ name: String, in folder: String = "sample") throws -> String {
        String(decoding: try FileBytes(path: "\(top)/deploy/\(folder)/\(name)").bytes, as: UTF8.self)
    }

    @Test("The sample's files are the same as the demo's own", arguments: Array(DemoFiles.all.keys))
    func sample(_ name: String) throws {
        let own = try #require(DemoFiles.all[name])
        try expect(text(name), is: String(decoding: own, as: UTF8.self))
    }

    @Test("A folder for the demo's files that cannot be made is reported in words")
    func noFolder() {
        let error = #expect(throws: FileFailure.self) { try ScratchFolder("nowhere/demo") }
        expect(error?.what, is: "No such file or directory")
    }

    @Test("The sample configuration has the demo's stages and no mistakes")
    func configuration() throws {
        let yaml = try text("pushmill.yaml")
        #expect(yaml.hasSuffix("\n\(DemoFiles.stages)"))
        expect(Reading(yaml).problems, is: [])
    }

    @Test("The Kubernetes manifests' configuration has no mistakes")
    func manifests() throws {
        let lines = try text("configmap.yaml", in: "kubernetes").split(
            separator: "\n", omittingEmptySubsequences: false)
        let yaml = lines.drop { !$0.hasSuffix("pushmill.yaml: |") }.dropFirst().map { $0.dropFirst(4) }
        #expect(yaml.count > 10)
        expect(Reading(yaml.joined(separator: "\n")).problems, is: [])
    }

    @Test("Forty events include each kind, in at least eight languages")
    func events() throws {
        var events = try DemoEvents()
        let all = try (0..<40).map { _ in try events.next() }
        let texts = all.map { DemoNotification($0.payload).text }
        for kind in ["🔒", "(silent)", "GAME", "PHOTOS", "PARCEL", "{contact:c9}", "NOT_IN_THE_CATALOG"] {
            #expect(texts.contains { $0.contains(kind) }, "\(kind)")
        }
        #expect(Set(all.map(\.locale)).count > 8)
        expect(all.count { $0.payload.contains("hangs") }, is: 1)
        expect(all.count { $0.expiration != nil }, is: 1)
    }

    @Test("Of the events whose results never come, only the latest are kept")
    func unanswered() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("push.events", partitions: 1)
        let feed = try DemoFeed(servers: cluster.bootstrapServers, capacity: 2)
        for _ in 0..<7 { #expect(try feed.send(until: { false })) }
        expect(feed.waiting.count, is: 2)
    }

    @Test("With a full queue and no broker, the feed waits only until told to end")
    func away() throws {
        let feed = try DemoFeed(servers: "127.0.0.1:1", capacity: 1)
        #expect(try feed.send(until: { true }))
        #expect(try !feed.send(until: { true }))
        expect(feed.waiting.count, is: 1)
    }

    @Test("Results arrive again after the brokers come back")
    func back() throws {
        let cluster = try MockCluster()
        for topic in ["push.notifications", "push.dead-letters"] { try cluster.createTopic(topic, partitions: 1) }
        let results = try DemoResults(servers: cluster.bootstrapServers)
        #expect(results.poll().isEmpty)
        cluster.setDown()
        for _ in 0..<10 { #expect(results.poll().isEmpty) }
        cluster.setUp()
        let producer = try OutputProducer(
            ClientProperties([("bootstrap.servers", cluster.bootstrapServers)]), signal: WakeSignal(),
            log: { _, _, _ in })
        var headers = Headers()
        let topic = try producer.topic("push.notifications")
        _ = producer.publish(to: topic, key: nil, value: nil, headers: &headers, timestamp: 0, tag: 0)
        var found: [RecordEnvelope] = []
        // For at most half a minute.
        for _ in 0..<1500 where found.isEmpty { found = results.poll() }
        expect(found.map(\.topic), is: ["push.notifications"])
    }

    @Test("The summary has the number of events, the slowest time and a recent median")
    func summary() {
        var summary = DemoSummary()
        let notification = DemoNotification("{}")
        let result = DemoResult(
            recipient: "", outcome: "passed", stages: "", before: notification, after: notification)
        summary.add(result, time: .seconds(3))
        for _ in 0..<20_000 { summary.add(result, time: .milliseconds(2)) }
        for _ in 0..<10_000 { summary.add(result, time: .milliseconds(1)) }
        expect(summary.count, is: 30_001)
        #expect(summary.text.contains("30001      1 ms   3000 ms"))
    }

    @Test("The page gets the latest results as JSON, the newest first")
    func board() throws {
        struct Shown: Decodable {
            struct Notification: Decodable {
                let title: String?
                let body: String?
                let badge: Int?
            }

            let recipient: String
            let after: Notification
        }
        let board = DemoBoard()
        expect(board.json(), is: Array("[]".utf8))
        for number in 0..<10 {
            board.add(
                DemoResult(
                    recipient: "r\(number)", outcome: "modified", stages: "",
                    before: DemoNotification("{}"),
                    after: DemoNotification(#"{"aps":{"alert":{"title":"T","body":"\"B\""},"badge":3}}"#)))
        }
        let shown = try JSONDecoder().decode([Shown].self, from: Data(board.json()))
        expect(shown.map(\.recipient), is: ["r9", "r8", "r7", "r6", "r5", "r4"])
        #expect(shown[0].after.title == "T" && shown[0].after.body == "\"B\"" && shown[0].after.badge == 3)
    }
}
