import Glibc
import PushmillKafka
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite(
        "Topics that are unavailable for a while",
        .enabled(if: Brokers.areMock, "errors can be injected into the mock cluster only"))
    struct UnavailableTopicTests {
        private let events = Event.series(1_000, keys: 100)

        enum Guarantee: CaseIterable { case atLeastOnce, exactlyOnce }

        private func configuration(_ guarantee: Guarantee, of scene: Scene) -> ServiceConfiguration {
            var configuration = guarantee == .exactlyOnce ? .exactlyOnce(0, of: scene) : ServiceConfiguration()
            configuration.producer += [
                ("topic.metadata.refresh.interval.ms", "100"), ("topic.metadata.propagation.max.ms", "0"),
            ]
            return configuration
        }

        @Test(
            "Outputs wait in order while their topic is unavailable, and none is lost", .thorough,
            arguments: Guarantee.allCases)
        func output(guarantee: Guarantee) async throws {
            try await Scene.play { scene in
                let mock = try #require(scene.brokers.mock)
                let service = try scene.start(configuration(guarantee, of: scene))
                try await scene.feeder.publish([events[0]])
                try await scene.outputs.wait(count: 1)
                try await takeAway(scene.output, of: 4, guarantee, mock, service)
                try await scene.feeder.publish(Array(events[1..<500]), rate: 300)
                // The remaining outputs find the topic gone, however late the service learned of it.
                try await service.wait(forLine: Self.lineOfAbsence(scene.output, of: 4))
                async let fed: Void = scene.feeder.publish(Array(events[500...]), rate: 300)
                try await service.wait(forLine: "outputs are not accepted for now, waiting")
                try await service.wait(forLine: "outputs are waiting: no broker acknowledges them")
                try await fed
                mock.setTopicError(scene.output, code: 0)
                try await scene.outputs.wait(count: events.count)
                try await service.wait(forLine: "outputs are acknowledged again")
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                let arrivals = scene.outputs.all
                #expect(arrivals.missing(of: events).isEmpty && arrivals.keysOutOfOrder.isEmpty)
                // The mock cluster also shows the outputs of aborted transactions.
                if guarantee == .atLeastOnce { try #require(arrivals.repeats.isEmpty) }
                #expect(scene.deadLetters.all.isEmpty)
            }
        }

        /// At least once, the service learns of the absence amid later outputs. With transactions, one would be
        /// aborted, and the mock cluster would show its outputs, so nothing follows until the absence is known.
        private func takeAway(
            _ topic: String, of partitions: Int, _ guarantee: Guarantee, _ mock: MockCluster, _ service: ServiceProcess
        ) async throws {
            if guarantee == .exactlyOnce {
                let client = try #require(try AdminClient(of: service))
                try await client.wait(for: "the first transaction to be committed") {
                    $0.contains(/\npushmill_transactions_total{result="committed"} [1-9]/)
                }
            }
            mock.setTopicError(topic, code: 3)
            if guarantee == .exactlyOnce { try await service.wait(forLine: Self.lineOfAbsence(topic, of: partitions)) }
        }

        /// What librdkafka logs when it has learned that a topic is gone.
        private static func lineOfAbsence(_ topic: String, of partitions: Int) -> String {
            "\(topic) partition count changed from \(partitions) to 0"
        }

        @Test("An output too large to publish becomes a dead letter with its original message and headers")
        func tooLarge() async throws {
            try await Scene.play { scene in
                let configuration = ServiceConfiguration(
                    producer: [("message.max.bytes", "2000")], stages: ["grow: { marker: large }"])
                let service = try scene.start(configuration)
                let value = Array(#"{"aps":{"alert":"a","mutable-content":1}}"#.utf8)
                try await scene.feeder.publish([(key: "large", value: value)], headers: [("locale", "fr")])
                let letters = try await scene.deadLetters.wait(count: 1)
                expect(letters, is: [Letter(key: "large", value: value, reason: "publish-failed", locale: "fr")])
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                #expect(scene.outputs.all.isEmpty)
            }
        }

        @Test("Dead letters wait for their topic without delaying notifications", arguments: Guarantee.allCases)
        func letters(guarantee: Guarantee) async throws {
            try await Scene.play { scene in
                let mock = try #require(scene.brokers.mock)
                var configuration = configuration(guarantee, of: scene)
                configuration.producer.append(("message.max.bytes", "10000"))
                let service = try scene.start(configuration)
                try await scene.feeder.publish([(key: "before", value: Array("{".utf8))])
                try await scene.deadLetters.wait(count: 1)
                try await takeAway(scene.deadLetterTopic, of: 1, guarantee, mock, service)
                // If the large one aborts a transaction, the mock cluster shows the transaction's outputs all the same.
                let largeCount = guarantee == .atLeastOnce ? 1 : 0
                // The large one cannot be published, which shows only when its turn comes.
                let small = Array("{".utf8)
                let large = Array(repeating: UInt8(ascii: "{"), count: 20_000)
                let broken: [(key: String, value: [UInt8]?)] = (0..<100).map {
                    (key: "key-\($0)", value: (75..<75 + largeCount).contains($0) ? large : small)
                }
                try await scene.feeder.publish(Array(broken[..<50]), rate: 100)
                // The rest finds the topic gone, however late that was learned: the large letter waits behind others.
                try await service.wait(forLine: Self.lineOfAbsence(scene.deadLetterTopic, of: 1))
                try await scene.feeder.publish(Array(broken[50...]), rate: 100)
                try await service.wait(forLine: "outputs are not accepted for now, waiting")
                try await scene.feeder.publish(events)
                try await scene.outputs.wait(count: events.count)
                #expect(scene.deadLetters.all.count < 101)
                mock.setTopicError(scene.deadLetterTopic, code: 0)
                try await scene.deadLetters.wait(for: "a letter of each key") { Set($0.map(\.key)).count == 101 }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                let letters = scene.deadLetters.all
                expect(letters.count { $0.reason == "publish-failed" && $0.value == nil }, is: largeCount)
                #expect(letters.allSatisfy { $0.value == nil || $0.reason == "not-json" && $0.value == small })
                #expect(scene.outputs.all.keysOutOfOrder.isEmpty)
                // Records of aborted transactions are no repeats to a reader of committed ones.
                if service.lines(with: "a transaction was aborted").isEmpty {
                    #expect(letters.count == 101 && scene.outputs.all.repeats.isEmpty)
                }
                // The mock cluster forgets the offsets of transactions.
                guard guarantee == .atLeastOnce else { return }
                try await expect(scene.committed().doneCount, is: 101 + events.count)
            }
        }
    }
}
