import Glibc
import PushmillStores
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Two instances, each with the contacts of its partitions")
    struct ContactHandoverTests {
        private static let partitions = 4

        /// The texts of events that are published to each partition, one after the other.
        private struct Texts {
            let scene: Scene
            let reader: TopicReader<OutputValue>

            /// Publishes events until the text of one begins like this.
            func expect(_ text: String, in partition: Int32) async throws {
                let key = "o\(partition)"
                let payload = #"{"aps":{"mutable-content":1,"alert":"{contact:c}, {contact:all}","badge":1}}"#
                for _ in 0..<200 {
                    let before = reader.all.count { $0.key == key }
                    try await scene.feeder.publish([(key, Array(payload.utf8))], to: partition)
                    try await reader.wait(for: "an output of \(key)") { all in
                        all.count { $0.key == key } > before
                    }
                    if reader.all.last(where: { $0.key == key })?.value.contains("\"\(text)") == true { return }
                }
                Issue.record("the text of \(key) stays \(reader.all.last { $0.key == key }?.value ?? "unpublished")")
            }

            func expectUsual(besides other: Int32? = nil) async throws {
                for partition in 0..<Int32(ContactHandoverTests.partitions) where partition != other {
                    try await expect("Own \(partition), Shared ", in: partition)
                }
            }
        }

        @Test("Contacts move to the other instance with their partitions", .thorough, arguments: [false, true])
        func handover(isExactlyOnce: Bool) async throws {
            try await Scene.play(partitions: Self.partitions) { scene in
                let states = try TemporaryFolder()
                let paths = ["\(states.path)/first.sqlite", "\(states.path)/second.sqlite"]
                let people = try await prepare(scene)
                let texts = Texts(scene: scene, reader: try scene.readValues())
                defer { texts.reader.stop() }
                let first = try start(0, paths[0], scene, isExactlyOnce)
                try await first.wait(forLine: #""partitions assigned","count":4"#)
                try await texts.expectUsual()
                try expect(PartitionedContacts.stored(in: paths[0]), is: [0, 1, 2, 3])

                let second = try start(1, paths[1], scene, isExactlyOnce)
                try await second.wait(forLine: #""partitions assigned","count":2"#)
                try await texts.expectUsual()
                let stored = try PartitionedContacts.stored(in: paths[1])
                expect(stored.count, is: 2)
                try expect(own(in: paths[1]), is: stored)
                try expect(own(in: paths[0]), is: Set(0..<4).subtracting(stored))

                // The first instance has had this partition before.
                let changed = try #require(stored.min())
                try await people.publish([(PartitionedContacts.own(changed), nil)], to: changed)
                try await texts.expect("Someone, Shared ", in: changed)
                second.send(SIGTERM)
                try await second.expectEnd(.exited(0))
                try await texts.expectUsual(besides: changed)
                try await texts.expect("Someone, Shared ", in: changed)
                try expect(own(in: paths[0]), is: Set(0..<4).subtracting([changed]))
                first.send(SIGTERM)
                try await first.expectEnd(.exited(0))
                for service in [first, second] { expectOrder(service, isExactlyOnce) }
            }
        }

        /// Creates the topic of contacts and fills it.
        private func prepare(_ scene: Scene) async throws -> Feeder {
            let people = try await elsewhere {
                try scene.brokers.createTopic(
                    "\(scene.input)-contacts", partitions: scene.partitions, settings: [("cleanup.policy", "compact")])
                return try Feeder(scene.brokers, topic: "\(scene.input)-contacts")
            }
            try await PartitionedContacts.fill(people, partitions: scene.partitions)
            return people
        }

        private func start(
            _ number: Int, _ state: String, _ scene: Scene, _ isExactlyOnce: Bool
        ) throws -> ServiceProcess {
            var configuration = isExactlyOnce ? .exactlyOnce(number, of: scene) : ServiceConfiguration()
            configuration.state = state
            configuration.cores = 1
            configuration.stages = ["contact: { source: \"topic:\(scene.input)-contacts\", co-partitioned: true }"]
            if isExactlyOnce { configuration.stages.append("badge: {}") }
            return try scene.start(configuration)
        }

        /// The partitions of which contacts with an owner are found.
        private func own(in path: String) throws -> Set<Int32> {
            let names = try PartitionedContacts.found(in: path).filter { $0.hasPrefix("o") }
            return Set(names.compactMap { $0.split(separator: " ").last.flatMap { Int32($0) } })
        }

        /// Expects that no partition was read before all that it needs was restored.
        private func expectOrder(_ service: ServiceProcess, _ isExactlyOnce: Bool) {
            let lines = service.lines
            let read = lines.firstIndex { $0.contains("serving partitions") } ?? 0
            var needs = ["following the contacts topic"]
            if isExactlyOnce { needs.append("restoring badge counts from the changelog") }
            for need in needs {
                #expect((lines.firstIndex { $0.contains(need) } ?? lines.count) < read)
            }
        }

        @Test("A contact topic with another partition count than the input is reported and not read")
        func unequal() async throws {
            try await Scene.play(partitions: 2) { scene in
                let topic = "\(scene.input)-contacts"
                try await elsewhere { try scene.brokers.createTopic(topic, partitions: 3) }
                let service = try scene.start(
                    ServiceConfiguration(stages: ["contact: { source: \"topic:\(topic)\", co-partitioned: true }"]))
                try await service.wait(
                    forLine: "\(topic) has 3 partitions and \(scene.input) has 2, but they need the same")
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                #expect(service.lines(with: "serving partitions").isEmpty)
            }
        }
    }
}
