import Glibc
import Kafka
import Testing
import Worker

extension EndToEnd {
    @Suite("Offsets that are not what they were")
    struct OffsetTests {
        private let events = Event.series(100, keys: 10)

        @Test(
            "An offset that an operator has committed is obeyed, with a warning",
            arguments: [
                ("", "its metadata is not ours"),
                (OffsetMetadata(base: 3, completed: [5..<9]).encoded().text, "its metadata was written for offset 3"),
            ])
        func reset(metadata: String, reason: String) async throws {
            try await Scene.play(partitions: 1) { scene in
                try await scene.feeder.publish(events)
                try await scene.commit([Position(scene.places[0], offset: 40, metadata: metadata)])
                let service = try scene.start()
                let arrivals = try await scene.outputs.wait(count: 60)
                #expect(arrivals.map(\.event) == Array(events[40...]))
                let lines = service.lines(with: "the committed offset was not set by pushmill and is obeyed")
                #expect(lines.count == 1)
                #expect(lines.allSatisfy { $0.contains(reason) && $0.contains(#""offset":40"#) })
            }
        }

        @Test("Records that the log no longer holds count as done")
        func gap() async throws {
            try await Scene.play(partitions: 1) { scene in
                try await scene.commit([Position(scene.places[0], offset: 1_000_000)])
                try await scene.feeder.publish(events)
                let service = try scene.start()
                let arrivals = try await scene.outputs.wait(count: 100)
                #expect(arrivals.map(\.event) == events)
                #expect(service.lines(with: "the offsets of a partition have gone back").count == 1)
                _ = try await scene.committed { $0.doneCount == 100 }
            }
        }

        @Test(
            "A log that begins anew is read from its new beginning",
            .enabled(if: Brokers.areMock, "the mock cluster can be told to forget an offset"))
        func recreated() async throws {
            try await Scene.play(partitions: 1) { scene in
                let mock = try #require(scene.brokers.mock)
                let service = try scene.start()
                try await scene.feeder.publish(events)
                try await scene.outputs.wait(count: 100)
                // OFFSET_OUT_OF_RANGE: the reader goes to the beginning, as it does in a topic that was made anew.
                mock.failRequests(.fetch, with: [1])
                try await scene.outputs.wait(count: 200)
                #expect(scene.outputs.all.suffix(100).map(\.event) == events)
                #expect(service.lines(with: "the offsets of a partition have gone back").count == 1)
                _ = try await scene.committed { $0.doneCount == 100 }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test(
            "A commit that is refused while the service ends is made again",
            .enabled(if: Brokers.areMock, "needs error injection"))
        func refusedAtTheEnd() async throws {
            try await Scene.play(partitions: 1) { scene in
                let mock = try #require(scene.brokers.mock)
                let service = try scene.start(ServiceConfiguration(delivery: [("checkpoint-interval", "60s")]))
                try await scene.feeder.publish(events)
                try await scene.outputs.wait(count: 100)
                #expect(try await scene.committed().doneCount == 0)
                mock.failRequests(.offsetCommit, with: [27, 27, 27])
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                #expect(service.lines(with: "REBALANCE_IN_PROGRESS").count == 3)
                #expect(try await scene.committed().doneCount == 100)
            }
        }
    }
}
