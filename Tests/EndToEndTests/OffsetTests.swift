import PushmillEngine
import Glibc
import PushmillKafka
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Committed offsets that do not fit")
    struct OffsetTests {
        private let events = Event.series(100, keys: 10)

        @Test(
            "An offset that an operator has committed is obeyed, with a warning",
            arguments: [
                ("", "its metadata was not written by pushmill"),
                (OffsetMetadata(base: 3, completed: [5..<9]).encoded().text, "its metadata was written for offset 3"),
            ])
        func reset(metadata: String, reason: String) async throws {
            try await Scene.play(partitions: 1) { scene in
                try await scene.feeder.publish(events)
                try await scene.commit([Position(scene.inputPartitions[0], offset: 40, metadata: metadata)])
                let service = try scene.start()
                let arrivals = try await scene.outputs.wait(count: 60)
                expect(Set(arrivals.map(\.event)), is: Set(events[40...]))
                #expect(arrivals.repeats.isEmpty)
                let line = "the committed offset was not set by pushmill: continuing from it"
                try await service.wait(forLine: line)
                let lines = service.lines(with: line)
                expect(lines.count, is: 1)
                #expect(lines.allSatisfy { $0.contains(reason) && $0.contains(#""offset":40"#) })
            }
        }

        @Test("A commit in an unknown newer format is left unchanged and holds up only its partition")
        func newer() async throws {
            try await Scene.play(partitions: 2) { scene in
                let events = Event.series(200, keys: 50)
                try await scene.feeder.publish(events)
                try await scene.commit([
                    Position(scene.inputPartitions[0], offset: 0, metadata: "PMv3AAAAAAA"),
                    Position(scene.inputPartitions[1], offset: 0, metadata: ""),
                ])
                let service = try scene.start(ServiceConfiguration(cores: 1))
                try await service.wait(forLine: "a newer release committed this offset: the partition waits")
                _ = try await scene.committed { $0[1].offset > 0 }
                try await expect(scene.committed()[0].metadata, is: "PMv3AAAAAAA")
                #expect(scene.outputs.all.count < events.count)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                try await expect(scene.committed()[0].metadata, is: "PMv3AAAAAAA")
                #expect(scene.outputs.all.repeats.isEmpty)
            }
        }

        @Test("A log that ends before the committed offset is read from its beginning")
        func recreatedMeanwhile() async throws {
            try await Scene.play(partitions: 1) { scene in
                try await scene.commit([Position(scene.inputPartitions[0], offset: 1_000_000)])
                try await scene.feeder.publish(events)
                let service = try scene.start()
                let arrivals = try await scene.outputs.wait(count: 100)
                expect(Set(arrivals.map(\.event)), is: Set(events))
                _ = try await scene.committed { $0.doneCount == 100 }
                try await service.wait(forLine: "the offsets of a partition went back")
                expect(service.lines(with: "the offsets of a partition went back").count, is: 1)
            }
        }

        @Test(
            "If a broker wrongly denies an offset that its log holds, no output is repeated",
            .enabled(if: Brokers.areMock, "needs error injection"))
        func denied() async throws {
            try await Scene.play(partitions: 1) { scene in
                let mock = try #require(scene.brokers.mock)
                let service = try scene.start()
                try await scene.feeder.publish(events)
                try await scene.outputs.wait(count: 100)
                // The next fetch is to be the service's.
                scene.stopReading()
                // OFFSET_OUT_OF_RANGE
                mock.failRequests(.fetch, with: [1])
                try await service.wait(forLine: "a broker denied an offset that the log holds")
                let more = Event.series(100, keys: 10, from: events.count)
                try await scene.feeder.publish(more)
                let outputs = try scene.readOutputs()
                let arrivals = try await outputs.wait(count: 200)
                outputs.stop()
                #expect(Set(arrivals.map(\.event)) == Set(events + more) && arrivals.repeats.isEmpty)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                _ = try await scene.committed { $0.doneCount == 200 }
            }
        }

        @Test(
            "Records lost from the log count as done, even behind one that is in flight", .thorough,
            .enabled(if: Brokers.areMock, "others keep more than 5 MB of a partition"))
        func gap() async throws {
            try await Scene.play(partitions: 1, outputPartitions: 4) { scene in
                // At most 100 are in flight. Once all but one have ended, there is room again, and that one waits on.
                // librdkafka must prefetch nothing beyond the record without room, or it would hold what is lost.
                let folder = try TemporaryFolder()
                let all = try folder.write("", to: "all")
                let last = try folder.write("", to: "last")
                let service = try scene.start(
                    ServiceConfiguration(
                        consumer: [("queued.min.messages", "1"), ("max.partition.fetch.bytes", "100000")],
                        delivery: [("deadline", "120s"), ("max-in-flight", "100")], cores: 1,
                        stages: [
                            "gate: { marker: slow, file: \(all) }", "second-gate: { marker: slowest, file: \(last) }",
                        ]))
                let held = (["slowest"] + (1..<100).map { "slow\($0)" }).map { Event(key: $0, number: 0) }
                // One more record, which finds no room, makes the service pause intake.
                try await scene.feeder.publish(held + [Event(key: "k0", number: 0)])
                try await service.wait(forLine: "intake is paused")
                let padding = String(repeating: "x", count: 3900)
                let value = Array(#"{"aps":{"alert":"hello"},"padding":"\#(padding)"}"#.utf8)
                try await scene.feeder.publish((0..<1500).map { (key: "k\($0)", value: value) })
                folder.delete("all")
                let count = held.count + 1501
                let positions = try await scene.committed(within: .seconds(60)) { $0.doneCount == count - 1 }
                try #require(positions[0].offset == 0 && positions[0].completedBeyond == count - 1)
                folder.delete("last")
                _ = try await scene.committed(within: .seconds(60)) { $0[0].offset == count }
                try await scene.outputs.wait(for: "what was held") { $0.missing(of: held).isEmpty }
                let arrivals = scene.outputs.all
                #expect(arrivals.count < count, "the log has kept everything")
                #expect(arrivals.repeats.isEmpty)
                // Some of the lost records had been finished.
                let told = "retention deleted records before they were read"
                expect(service.lines(with: told).count, is: 1)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test(
            "A member fenced while it holds records is replaced, and its successor finishes them",
            .enabled(if: Brokers.areMock, "needs error injection"))
        func fenced() async throws {
            try await Scene.play(partitions: 1) { scene in
                let mock = try #require(scene.brokers.mock)
                let folder = try TemporaryFolder()
                let gate = try folder.write("", to: "gate")
                // The second record waits behind the first, still lent by librdkafka.
                let service = try scene.start(
                    ServiceConfiguration(
                        consumer: [("group.instance.id", "one")],
                        delivery: [("deadline", "120s")], cores: 1,
                        stages: ["gate: { marker: slow, file: \(gate) }"]))
                try await service.wait(forPartitionsRead: 1)
                try await scene.feeder.publish((0..<2).map { Event(key: "slow", number: $0) })
                let client = try #require(try AdminClient(of: service))
                try await client.wait(for: "two in flight") {
                    $0.value(of: "pushmill_in_flight_messages") == 2
                }
                mock.failRequests(.heartbeat, with: [82])
                try await service.wait(forLine: "the consumer has failed")
                folder.delete("gate")
                try await scene.outputs.wait(count: 2)
                _ = try await scene.committed(within: .seconds(60)) { $0.doneCount == 2 }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test(
            "A commit that is refused during shutdown is retried",
            .enabled(if: Brokers.areMock, "needs error injection"))
        func refusedAtTheEnd() async throws {
            try await Scene.play(partitions: 1) { scene in
                let mock = try #require(scene.brokers.mock)
                let service = try scene.start(
                    ServiceConfiguration(delivery: [("checkpoint-interval", "60s")], cores: 1))
                try await scene.feeder.publish(events)
                try await scene.outputs.wait(count: 100)
                try await expect(scene.committed().doneCount, is: 0)
                mock.failRequests(.offsetCommit, with: [27, 27, 27])
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                expect(service.lines(with: "REBALANCE_IN_PROGRESS").count, is: 3)
                try await expect(scene.committed().doneCount, is: 100)
            }
        }
    }
}
