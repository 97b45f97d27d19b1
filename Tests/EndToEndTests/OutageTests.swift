import Glibc
import PushmillKafka
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Brokers that fail", .enabled(if: Brokers.areMock, "errors can be injected into the mock cluster only"))
    struct OutageTests {
        private let events = Event.series(4_000, keys: 200)

        /// The mock cluster accepts a request although the one before it was refused, as no real broker does, and
        /// librdkafka infers from it that the refused one was stored. Hence one request at a time.
        private static let oneRequest = [(name: "max.in.flight.requests.per.connection", value: "1")]

        @Test("A broker outage longer than every timeout loses nothing and makes no dead letters", .thorough)
        func down() async throws {
            try await Scene.play(brokersGoAway: true) { scene in
                let mock = try #require(scene.brokers.mock)
                var configuration = ServiceConfiguration()
                // Longer than the mock waits for the members of a group: commits wait behind a join, and one that times
                // out closes the connection and so ends the join.
                configuration.consumer = [("socket.timeout.ms", "8000")]
                configuration.producer = [("socket.timeout.ms", "2000"), ("request.timeout.ms", "1000")]
                let service = try scene.start(configuration)
                try await service.wait(forLine: "serving partitions")
                async let fed: Void = scene.feeder.publish(events, rate: 2_000)
                try await scene.outputs.wait(count: 1_000)
                mock.setDown()
                // The outage itself: longer than the session and all of the above.
                try await Task.sleep(for: .seconds(13))
                // Losses during the outage only: a slow join afterwards may cause more.
                let losses = service.lines(with: "partitions lost").count
                mock.setUp()
                try await fed
                try await expectAll(events, scene)
                #expect(service.lines.contains { $0.contains("librdkafka") && $0.contains("Connection refused") })
                #expect(losses <= 2)
                // Nothing is committed for lost partitions: what was published from them meanwhile comes again. The
                // feeder, too, publishes again what brokers did not acknowledge.
                _ = try await scene.committed(within: .seconds(60)) { $0.doneCount >= events.count }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("An idle service becomes unready once the group has lost it in an outage", .thorough)
        func downWhileIdle() async throws {
            try await Scene.play(partitions: 1, brokersGoAway: true) { scene in
                let mock = try #require(scene.brokers.mock)
                let service = try scene.start(ServiceConfiguration(cores: 1))
                try await service.wait(forPartitionsRead: 1)
                let client = try #require(try AdminClient(of: service))
                try await client.wait(for: "ready", at: "/readyz") { $0.contains(" 200 OK") }
                mock.setDown()
                try await client.wait(for: "the loss", at: "/readyz") { $0.contains(#""reason":"not-joined""#) }
                mock.setUp()
                try await client.wait(for: "ready again", at: "/readyz") { $0.contains(" 200 OK") }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("Brokers that are down do not keep the service from ending")
        func downAtTheEnd() async throws {
            try await Scene.play(brokersGoAway: true) { scene in
                let mock = try #require(scene.brokers.mock)
                let service = try scene.start(ServiceConfiguration(delivery: [("shutdown-grace", "3s")]))
                try await service.wait(forLine: "serving partitions")
                async let fed: Void = scene.feeder.publish(events, rate: 2_000)
                try await scene.outputs.wait(count: 1_000)
                mock.setDown()
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0), within: .seconds(20))
                mock.setUp()
                try await fed
                _ = try scene.start()
                try await expectAll(events, scene)
            }
        }

        @Test(
            "Outputs that leaders refuse for a while are stored later, in order", .thorough,
            arguments: [(6, "NOT_LEADER_FOR_PARTITION"), (7, "REQUEST_TIMED_OUT")])
        func refusedForAWhile(code: Int32, name: String) async throws {
            try await Scene.play { scene in
                let mock = try #require(scene.brokers.mock)
                try await scene.feeder.publish(events)
                mock.failRequests(.produce, with: Array(repeating: code, count: 1_000))
                let service = try scene.start(ServiceConfiguration(producer: Self.oneRequest))
                try await service.wait(forLine: "outputs are waiting: no broker acknowledges them")
                #expect(scene.outputs.all.isEmpty)
                mock.clearFailures(of: .produce)
                try await expectAll(events, scene)
                try await service.wait(forLine: "outputs are acknowledged again")
                #expect(scene.outputs.all.repeats.isEmpty)
                #expect(scene.outputs.all.keysOutOfOrder.isEmpty)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                try await expect(scene.committed().doneCount, is: events.count)
            }
        }

        @Test("A partition revoked while intake is paused is read when it returns", .thorough)
        func pausedGoing() async throws {
            try await Scene.play { scene in
                let mock = try #require(scene.brokers.mock)
                let events = Array(events[..<1_000])
                let configuration = ServiceConfiguration(
                    producer: Self.oneRequest, delivery: [("max-in-flight", "100"), ("drain", "1s")], cores: 1)
                try await scene.feeder.publish(events)
                // REQUEST_TIMED_OUT
                mock.failRequests(.produce, with: Array(repeating: 7, count: 10_000))
                let first = try scene.start(configuration)
                try await first.wait(forLine: "too much is in flight: intake is paused")
                let second = try scene.start(configuration)
                try await second.wait(forLine: #""partitions assigned","count":2"#)
                mock.clearFailures(of: .produce)
                try await first.wait(forLine: "intake resumed")
                let wanted = Set(events)
                try await scene.outputs.wait(for: "every event") { wanted.isSubset(of: $0.lazy.map(\.event)) }
                second.send(SIGTERM)
                try await second.expectEnd(.exited(0))
                try await first.wait(forLine: #""partitions assigned","count":2"#)
                let more = Event.series(100, keys: 100, from: events.count)
                try await scene.feeder.publish(more)
                let all = wanted.union(more)
                try await scene.outputs.wait(for: "what came later") { all.isSubset(of: $0.lazy.map(\.event)) }
                #expect(scene.outputs.all.keysOutOfOrder.isEmpty)
                first.send(SIGTERM)
                try await first.expectEnd(.exited(0))
            }
        }

        @Test("A producer that fails for good is replaced by another")
        func fatal() async throws {
            try await Scene.play { scene in
                let mock = try #require(scene.brokers.mock)
                try await scene.feeder.publish(events)
                // OUT_OF_ORDER_SEQUENCE_NUMBER
                mock.failRequests(.produce, with: [45])
                let service = try scene.start()
                try await service.wait(forLine: "a producer has failed: replacing it")
                try await expectAll(events, scene)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("Small outputs whose batch is refused for its size are stored one by one")
        func refusedBatch() async throws {
            try await Scene.play { scene in
                let mock = try #require(scene.brokers.mock)
                let events = Array(events[..<1_000])
                try await scene.feeder.publish(events)
                mock.failRequests(.produce, with: [10])
                // A request with a single record would not count as a batch.
                let service = try scene.start(ServiceConfiguration(producer: [("linger.ms", "1000")]))
                try await expectAll(events, scene)
                try await service.wait(forLine: "MSG_SIZE_TOO_LARGE")
                #expect(scene.outputs.all.repeats.isEmpty)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                try await expect(scene.committed().doneCount, is: events.count)
            }
        }

        @Test(
            "Refused commits are retried", .thorough,
            arguments: [(22, "ILLEGAL_GENERATION"), (27, "REBALANCE_IN_PROGRESS")])
        func refusedCommits(code: Int32, name: String) async throws {
            try await Scene.play { scene in
                let mock = try #require(scene.brokers.mock)
                let service = try scene.start()
                try await service.wait(forLine: "serving partitions")
                mock.failRequests(.offsetCommit, with: Array(repeating: code, count: 3))
                try await scene.feeder.publish(events)
                try await expectAll(events, scene)
                try await service.wait(forLine: name)
                _ = try await scene.committed { $0.doneCount == events.count }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("If a batch is refused for its size, only the oversized record becomes a dead letter")
        func tooLarge() async throws {
            // The mock refuses the batch as a whole and then, of its records sent one by one, the 51st. The batch has
            // that many even if it is sent before all are taken.
            try await Scene.play(partitions: 1) { scene in
                let mock = try #require(scene.brokers.mock)
                let events = Event.series(1_000, keys: 1_000)
                try await scene.feeder.publish(events)
                mock.failRequests(.produce, with: [10] + Array(repeating: 0, count: 50) + [10])
                // A second member that joins late would make the partition move in between.
                let service = try scene.start(ServiceConfiguration(producer: [("linger.ms", "2000")], cores: 1))
                try await scene.outputs.wait(count: 999)
                let letters = try await scene.deadLetters.wait(count: 1)
                let missing = scene.outputs.all.missing(of: events)
                expect(missing.count, is: 1)
                expect(
                    letters, is: missing.map { Letter(key: $0.key, value: $0.payload, reason: "publish-failed") })
                expect(scene.outputs.all.count, is: 999)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                try await expect(scene.committed().doneCount, is: events.count)
            }
        }

        private func expectAll(_ events: [Event], _ scene: Scene) async throws {
            let wanted = Set(events)
            try await scene.outputs.wait(for: "every event") { wanted.isSubset(of: $0.lazy.map(\.event)) }
            #expect(scene.deadLetters.all.isEmpty)
        }
    }

    @Suite("Brokers that refuse oversized records", .disabled(if: Brokers.areMock, "the mock cluster takes any size"))
    struct SizeTests {
        @Test("If a batch is refused for its size, only the oversized record becomes a dead letter")
        func tooLarge() async throws {
            try await Scene.play(partitions: 1, outputSettings: [("max.message.bytes", "2000")]) { scene in
                let events = Event.series(1_000, keys: 1_000)
                let payload = #"{"n":0,"aps":{"alert":"\#(String(repeating: "x", count: 3_000))"}}"#
                try await scene.feeder.publish(
                    events.map { ($0.key, $0.payload) } + [("large", Array(payload.utf8))])
                let service = try scene.start(ServiceConfiguration(producer: [("linger.ms", "2000")]))
                try await scene.outputs.wait(count: 1_000, within: .seconds(120))
                let letters = try await scene.deadLetters.wait(count: 1)
                expect(letters, is: [Letter(key: "large", value: Array(payload.utf8), reason: "publish-failed")])
                #expect(scene.outputs.all.missing(of: events).isEmpty)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }
    }
}
