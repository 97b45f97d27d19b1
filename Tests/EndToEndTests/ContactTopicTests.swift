import PushmillEngine
import Glibc
import PushmillKafka
import PushmillStores
import PushmillTelemetry
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Contacts from a topic")
    struct ContactTopicTests {
        private static let anna = #"{"owner":"anna","id":"c1"}"#
        private static let boris = #"{"owner":"anna","id":"c2"}"#

        private static func name(_ name: String) -> [UInt8] { Array(#"{"name":"\#(name)"}"#.utf8) }

        /// A service's texts about the two contacts.
        private struct Texts {
            let scene: Scene
            let reader: TopicReader<String>

            init(_ scene: Scene) throws {
                self.scene = scene
                reader = try TopicReader(scene.brokers, topic: scene.output, partitions: scene.partitions) { record in
                    String(decoding: record.value ?? UnsafeRawBufferPointer(start: nil, count: 0), as: UTF8.self)
                }
            }

            func publish() async throws {
                let payload = #"{"aps":{"mutable-content":1,"alert":"{contact:c1}, {contact:c2}"}}"#
                try await scene.feeder.publish([(key: "anna", value: Array(payload.utf8))])
            }

            /// Publishes events one by one until the text is this one.
            func expect(_ text: String) async throws {
                for _ in 0..<1000 {
                    let before = reader.all.count
                    try await publish()
                    try await reader.wait(count: before + 1)
                    if reader.all.last?.contains("\"\(text)\"") == true { return }
                }
                Issue.record("the text stays \(reader.all.last ?? "unpublished")")
            }
        }

        @Test("A damaged state file that only copies the topic is set aside and restored")
        func setAside() async throws {
            try await Scene.play(partitions: 1) { scene in
                let topic = "\(scene.input)-contacts"
                let people = try await elsewhere {
                    try scene.brokers.createTopic(topic, partitions: 1, settings: [("cleanup.policy", "compact")])
                    return try Feeder(scene.brokers, topic: topic)
                }
                try await people.publish([(Self.anna, Self.name("Zoë"))])
                let folder = try TemporaryFolder()
                let state = try folder.write(String(repeating: "no database ", count: 1000), to: "state.sqlite")
                let service = try scene.start(
                    ServiceConfiguration(stages: ["contact: { source: \"topic:\(topic)\" }"], state: state))
                try await service.wait(forLine: "the state file was set aside")
                let texts = try Texts(scene)
                try await texts.publish()
                try await texts.reader.wait(count: 1)
                expect(texts.reader.all.first?.contains("\"Zoë, Someone\""), is: true)
                #expect(folder.names.contains("state.sqlite.aside-1"))
                texts.reader.stop()
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("Contacts are restored before intake, follow the topic, and are read on after a restart")
        func service() async throws {
            try await Scene.play(partitions: 1) { scene in
                let topic = "\(scene.input)-contacts"
                let people = try await elsewhere {
                    try scene.brokers.createTopic(topic, partitions: 1, settings: [("cleanup.policy", "compact")])
                    return try Feeder(scene.brokers, topic: topic)
                }
                try await people.publish([
                    (Self.anna, Self.name("Old")), (Self.boris, Self.name("Gone")), ("none", nil),
                    (Self.anna, Self.name("Zoë")), (Self.boris, nil),
                ])
                let texts = try Texts(scene)
                try await texts.publish()
                scene.brokers.mock?.failRequests(.listOffsets, with: Array(repeating: 29, count: 1000))
                let configuration = ServiceConfiguration(stages: ["contact: { source: \"topic:\(topic)\" }"])
                let first = try scene.start(configuration)
                if let mock = scene.brokers.mock {
                    // One attempt a second: six take longer than joining the group.
                    try await first.wait(forLine: "cannot read contacts from their topic", count: 6)
                    mock.clearFailures(of: .listOffsets)
                }
                try await texts.reader.wait(count: 1)
                expect(texts.reader.all.first?.contains("\"Zoë, Someone\""), is: true)
                let restored = try #require(first.lines.firstIndex { $0.contains("contacts restored") })
                let joined = try #require(first.lines.firstIndex { $0.contains("serving partitions") })
                #expect(restored < joined)
                #expect(first.lines[restored].contains(#""count":5"#))
                let begun = "following the contacts topic"
                expect(first.lines(with: begun).last?.contains(#""count":5"#), is: true)
                expect(first.lines(with: "a record of the contacts topic is invalid").count, is: 1)
                let told = ["contacts from", "contacts restored", "contacts topic"].flatMap { first.lines(with: $0) }
                #expect(told.count >= 3 && told.allSatisfy { $0.contains(#""stage":"contact""#) }, "\(told)")

                try await people.publish([(Self.boris, Self.name("Boris")), (Self.anna, nil)])
                try await texts.expect("Someone, Boris")
                first.send(SIGTERM)
                try await first.expectEnd(.exited(0))

                try await people.publish([(Self.anna, Self.name("Back"))])
                let second = try scene.start(configuration)
                try await texts.expect("Back, Boris")
                // Only the new record counts; the last ones that were known are compared.
                for text in [begun, "contacts restored"] {
                    expect(second.lines(with: text).first?.contains(#""count":1"#), is: true)
                }
                texts.reader.stop()
            }
        }

        @Test(
            "A service that waits for its contacts can be ended",
            .enabled(if: Brokers.areMock, "others cannot be failed"))
        func ending() async throws {
            try await Scene.play(partitions: 1) { scene in
                let topic = "\(scene.input)-contacts"
                try await elsewhere { try scene.brokers.createTopic(topic, partitions: 1) }
                scene.brokers.mock?.failRequests(.listOffsets, with: Array(repeating: 29, count: 1000))
                let service = try scene.start(
                    ServiceConfiguration(stages: ["contact: { source: \"topic:\(topic)\" }"]))
                try await service.wait(forLine: "cannot read contacts from their topic")
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0), within: .seconds(20))
                scene.brokers.mock?.clearFailures(of: .listOffsets)
            }
        }

        @Test(
            "While one partition has no leader, the others are read but none is ready",
            .enabled(if: Brokers.areMock, "others have leaders"))
        func leaderless() async throws {
            let source = try await elsewhere { try PartitionedContacts() }
            try await PartitionedContacts.fill(source.people, partitions: 3)
            let place = TopicPartition(source.topic, 1)
            source.brokers.mock?.setLeader(of: place, broker: -1)
            let log = Log()
            let follower = try await elsewhere {
                try ContactFollower(
                    source.brokers.properties([("fetch.wait.max.ms", "50")]), topic: source.topic, of: "cluster",
                    into: try StateFile(path: source.state, access: .alone), log: log)
            }
            do {
                try await log.wait(
                    for: "partitions of the contacts topic have no leader: events that need them wait")
                try await Self.wait(for: ["*", "o0", "o2"], in: source.state)
                #expect(!follower.isReady(TopicPartition("in", 0), for: 0))
                expect(follower.reason?.word, is: "contacts-not-restored")
                #expect(follower.failing > .zero)
                source.brokers.mock?.setLeader(of: place, broker: 1)
                try await log.wait(for: "contacts restored")
                try expect(Self.owners(in: source.state), is: ["*", "o0", "o1", "o2"])
                #expect(follower.isReady(TopicPartition("in", 0), for: 0) && follower.reason == nil)
                try await Self.wait(until: "the topic is followed again") { follower.failing == .zero }
            } catch {
                Issue.record("\(error)\n\(log.messages.joined(separator: "\n"))")
            }
            try await elsewhere { follower.stop() }
        }

        @Test("Contacts behind an open transaction are waited for", .needsTransactions)
        func heldUp() async throws {
            try await elsewhere {
                let source = try PartitionedContacts(partitions: 1)
                let signal = WakeSignal()
                let producer = try OutputProducer(
                    source.brokers.properties([("transactional.id", source.topic)]), signal: signal, log: { _, _, _ in }
                )
                expect(producer.transact(.initialize, milliseconds: 30_000), is: .done)
                expect(producer.transact(.begin, milliseconds: 30_000), is: .done)
                var headers = Headers()
                let topic = try producer.topic(source.topic)
                _ = Array(PartitionedContacts.own(0).utf8).withUnsafeBytes { bytes in
                    producer.publish(
                        to: topic, partition: 0, key: bytes, value: bytes, headers: &headers, timestamp: 5, tag: 1)
                }
                var isStored = false
                while !isStored {
                    signal.wait(nanoseconds: 1_000_000_000)
                    producer.takeReports { _ in isStored = true }
                }
                let log = Log()
                let follower = try ContactFollower(
                    source.brokers.properties(), topic: source.topic, of: "cluster",
                    into: try StateFile(path: source.state, access: .alone), log: log)
                defer { follower.stop() }
                try log.block(until: "waiting for the end of the contacts topic: a transaction is open")
                #expect(!follower.isReady(TopicPartition("in", 0), for: 0))
                expect(follower.reason?.word, is: "contacts-not-restored")
                expect(producer.transact(.abort, milliseconds: 30_000), is: .done)
                try log.block(until: "contacts restored")
                #expect(follower.isReady(TopicPartition("in", 0), for: 0) && follower.reason == nil)
            }
        }

        /// Returns when exactly these owners have contacts in the state.
        private static func wait(for owners: [String], in path: String) async throws {
            try await wait(until: "contacts of \(owners)") { try Self.owners(in: path) == owners }
        }

        private static func wait(until what: String, _ isMet: () throws -> Bool) async throws {
            let end = ContinuousClock.now + .seconds(30)
            while try !isMet() {
                guard end > .now else { throw Overdue(what: what, limit: .seconds(30)) }
                try await Task.sleep(for: .milliseconds(5))
            }
        }

        private static func owners(in path: String) throws -> [String] {
            let query = try Database.open(path: path).prepare("SELECT CAST(owner AS TEXT) FROM contact ORDER BY owner")
            var owners: [String] = []
            while try query.step() { owners.append(query.text(0)) }
            return owners
        }

        @Test(
            "Only a topic that differs from the one read before is read from its beginning",
            arguments: [
                ("SELECT 1", false), ("UPDATE contact_position SET timestamp=timestamp+1", true),
                ("UPDATE contact_position SET offset=offset+1", true),
                ("UPDATE contact_mark SET timestamp=timestamp+1 WHERE offset=0", true),
                ("DELETE FROM contact_mark", false),
                ("UPDATE contact_position SET offset=offset+1000", true),
                ("UPDATE contact_position SET partition=partition+3", true),
                ("UPDATE contact_source SET cluster='another'", true), ("UPDATE contact_position SET seen=0", true),
            ])
        func otherTopic(change: String, isAnew: Bool) async throws {
            let folder = try TemporaryFolder()
            let path = "\(folder.path)/state.sqlite"
            let topic = "test-contacts-\(UInt64.random(in: 0 ... .max))"
            let brokers = try await elsewhere {
                let brokers = try Brokers()
                try brokers.createTopic(topic, partitions: 3)
                return brokers
            }
            let records = (0..<100).map { number in
                (key: #"{"owner":"o\#(number)","id":"c"}"#, value: Optional(Self.name("Name \(number)")))
            }
            try await Feeder(brokers, topic: topic).publish(records)
            try await elsewhere {
                try expect(Self.follow(topic, brokers, path).count, is: 100)
                let database = try Database.open(path: path)
                try database.execute("INSERT INTO contact VALUES(-1, x'61', x'62', x'63'); \(change)")
            }
            let ghost = #"{"owner":"a","id":"b","name":"c"}"#
            let contacts = try await elsewhere { try Self.follow(topic, brokers, path) }
            #expect(contacts.contains { $0 == ghost } != isAnew)
            expect(contacts.count, is: (isAnew ? 100 : 101))
        }

        /// Reads the topic to its end, and returns the contacts as lines.
        private static func follow(_ topic: String, _ brokers: Brokers, _ path: String) throws -> [Substring] {
            let state = try StateFile(path: path, access: .alone)
            let log = Log()
            let follower = try ContactFollower(
                brokers.properties([("fetch.wait.max.ms", "50")]), topic: topic, of: "cluster", into: state, log: log)
            do {
                defer { follower.stop() }
                try log.block(until: "contacts restored")
                #expect(follower.isReady(TopicPartition("in", 0), for: 0))
            }
            var lines: [UInt8] = []
            _ = try ContactStore(state).exportLines { lines += $0 }
            return String(decoding: lines, as: UTF8.self).split(separator: "\n")
        }
    }
}
