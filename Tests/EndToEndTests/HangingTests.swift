import Glibc
import PushmillKafka
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Stages that hang for some recipients")
    struct HangingTests {
        /// One recipient in a hundred hangs.
        private let events = Event.series(10_000, keys: 1_000, marking: 100)
        private var unmarked: Int { events.count { !$0.isMarked } }

        @Test("Hanging messages hold back no others, and the service's end repeats nothing")
        func terminate() async throws {
            try await Scene.play(partitions: 8) { scene in
                let service = try await publishPastHanging(scene, delivery: [("shutdown-grace", "3s")])
                let peak = try #require(service.peakMemory)
                // Under a sanitizer the peak tells nothing: it shadows all memory and keeps much of what was freed.
                if getenv("LSAN_OPTIONS") == nil, getenv("TSAN_OPTIONS") == nil { #expect(peak < 256 << 20) }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                #expect((1...2).contains(service.lines(with: "to the next owner").count))
                let arrivals = try await finish(scene)
                #expect(arrivals.repeats.isEmpty)
                #expect(arrivals.keysOutOfOrder.isEmpty)
                print("hanging: peak memory \(peak >> 20) MiB")
            }
        }

        @Test("A kill repeats nothing that was committed beyond a hanging message")
        func kill() async throws {
            try await Scene.play(partitions: 8) { scene in
                let service = try await publishPastHanging(scene)
                let positions = try await scene.committed { $0.doneCount == unmarked }
                #expect(positions.allSatisfy { $0.metadata.utf8.count < 4_096 })
                #expect(positions.contains { $0.completedBeyond > 0 }, "nothing held a partition back")
                service.send(SIGKILL)
                try await service.expectEnd(.signalled(SIGKILL))
                let arrivals = try await finish(scene)
                #expect(arrivals.repeats.isEmpty)
                #expect(arrivals.keysOutOfOrder.isEmpty)
                print("hanging: metadata of up to \(positions.map(\.metadata.utf8.count).max() ?? 0) bytes")
            }
        }

        @Test(
            "A single hanging message is the whole lag and the oldest unfinished record",
            arguments: [false, true])
        func lag(isExactlyOnce: Bool) async throws {
            try await Scene.play(partitions: 1) { scene in
                var configuration = isExactlyOnce ? .exactlyOnce(0, of: scene) : ServiceConfiguration()
                configuration.delivery += [("deadline", "120s"), ("shutdown-grace", "1s")]
                configuration.stages = ["sleep: { marker: slow, time: 60s }"]
                configuration.cores = 2
                let service = try scene.start(configuration)
                try await service.wait(forLine: "serving partitions")
                try await scene.feeder.publish(Event.series(5_000, keys: 5_000, marking: 5_000))
                let published = ContinuousClock.now
                try await scene.outputs.wait(count: 4_999)
                let client = try #require(try AdminClient(of: service))
                let labels = "{topic=\"\(scene.input)\",partition=\"0\"}"
                try await client.wait(for: "one record that is not finished, seconds old") {
                    $0.value(of: "pushmill_consumer_lag_records\(labels)") == 1
                        && $0.value(of: "pushmill_oldest_unfinished_seconds\(labels)") ?? 0 >= 2
                }
                #expect(published.duration(to: .now) >= .seconds(1))
                let metrics = try await elsewhere { try client.ask("/metrics") }
                let busy = [0, 1].compactMap { metrics.value(of: "pushmill_shard_busy_seconds_total{shard=\"\($0)\"}") }
                expect(busy.count, is: 2)
                #expect((0.001...30).contains(busy.reduce(0, +)))
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        /// Returns when every unmarked event has come out, while the marked ones wait.
        private func publishPastHanging(
            _ scene: Scene, delivery: [(name: String, value: String)] = []
        ) async throws -> ServiceProcess {
            let service = try scene.start(
                ServiceConfiguration(
                    delivery: [("deadline", "120s")] + delivery, stages: ["sleep: { marker: slow, time: 60s }"]))
            try await service.wait(forLine: "serving partitions")
            try await scene.feeder.publish(events)
            let arrivals = try await scene.outputs.wait(count: unmarked)
            expect(arrivals.count, is: unmarked)
            #expect(arrivals.allSatisfy { !$0.event.isMarked })
            return service
        }

        /// An instance without the stage does the rest.
        private func finish(_ scene: Scene, _ events: [Event]? = nil) async throws -> [Arrival] {
            let next = try scene.start()
            let wanted = Set(events ?? self.events)
            try await scene.outputs.wait(for: "the rest") { wanted.isSubset(of: $0.lazy.map(\.event)) }
            next.send(SIGTERM)
            try await next.expectEnd(.exited(0))
            return scene.outputs.all
        }

        @Test(
            "Messages behind a hanging one leave within two deadlines, other recipients' at once"
        )
        func behind() async throws {
            try await Scene.play { scene in
                let service = try scene.start(
                    ServiceConfiguration(
                        delivery: [("deadline", "8s")], stages: ["hang: { marker: slow }", "fail: { marker: k }"]))
                try await service.wait(forLine: "serving partitions")
                let begin = ContinuousClock.now
                try await scene.feeder.publish(Event.series(15, keys: 3, marking: 3))
                let stored = ContinuousClock.now
                let arrivals = try await scene.outputs.wait(count: 15)
                let behind = arrivals.filter { $0.event.isMarked }
                expect(behind.count, is: 5)
                #expect(behind.allSatisfy { $0.outcome == "best-attempt" })
                #expect(behind.allSatisfy { $0.stages == "hang=expired,fail=expired" })
                #expect(behind.allSatisfy { begin.duration(to: $0.time) >= .seconds(8) })
                // The third deadline allows for the way through the brokers on a busy machine.
                #expect(behind.allSatisfy { stored.duration(to: $0.time) < .seconds(24) })
                let others = arrivals.filter { !$0.event.isMarked }
                #expect(others.allSatisfy { $0.stages == "hang=skipped,fail=failed:marked" })
                #expect(others.allSatisfy { stored.duration(to: $0.time) < .seconds(8) })
                #expect(arrivals.keysOutOfOrder.isEmpty)
                let client = try #require(try AdminClient(of: service))
                // A message taken a moment later may hang too. One that waited for a deadline does not begin to hang.
                try await client.wait(for: "the time of those that hung to be told") {
                    $0.value(of: "pushmill_message_seconds_bucket{le=\"5.0\"}") ?? 0 >= 13
                        && $0.contains("\npushmill_message_seconds_count 15")
                }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("A stage that blocks its thread delays neither its message nor the process's end")
        func block() async throws {
            try await Scene.play { scene in
                var configuration = ServiceConfiguration(
                    delivery: [("deadline", "500ms"), ("shutdown-grace", "2s")],
                    stages: ["block: { marker: slow, time: 3600s }"])
                // While a second member joins, the group accepts no commits, for longer than the grace period.
                configuration.cores = 1
                let service = try scene.start(configuration)
                try await service.wait(forLine: "serving partitions")
                try await scene.feeder.publish(Event.series(1, keys: 1, marking: 1))
                let arrivals = try await scene.outputs.wait(count: 1)
                expect(arrivals.map(\.outcome), is: ["best-attempt"])
                expect(arrivals.map(\.stages), is: ["block=expired"])
                let client = try #require(try AdminClient(of: service))
                try await client.wait(for: "the time of the message to be told") {
                    $0.contains("\npushmill_message_seconds_count 1\n")
                }
                // A busy machine may take longer to commit than the grace period.
                _ = try await scene.committed { $0.doneCount == 1 }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0), within: .seconds(20))
                try await expect(scene.committed().doneCount, is: 1)
            }
        }

        @Test(
            "An immediate stage that blocks its shard is reported as stuck, and the process ends",
            .thorough)
        func hold() async throws {
            try await Scene.play { scene in
                let service = try scene.start(
                    ServiceConfiguration(
                        delivery: [("deadline", "500ms"), ("shutdown-grace", "2s")],
                        stages: ["hold: { marker: slow, time: 3600s }"]))
                try await service.wait(forLine: "serving partitions")
                try await scene.feeder.publish(Event.series(1, keys: 1, marking: 1))
                let client = try #require(try AdminClient(of: service))
                try await client.wait(for: "the shard to be found stuck", at: "/healthz") {
                    $0.contains(" 503 ") && $0.contains(#""reason":"shard-stuck""#)
                }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0), within: .seconds(20))
                try await expect(scene.committed().doneCount, is: 0)
            }
        }

        @Test("Tasks of a stage that block Swift's own threads delay neither its message nor the process's end")
        func spawn() async throws {
            try await Scene.play { scene in
                let service = try scene.start(
                    ServiceConfiguration(
                        delivery: [("deadline", "500ms"), ("shutdown-grace", "2s")],
                        stages: ["spawn: { marker: slow, time: 3600s }"]))
                try await service.wait(forLine: "serving partitions")
                try await scene.feeder.publish(Event.series(1, keys: 1, marking: 1))
                let arrivals = try await scene.outputs.wait(count: 1)
                expect(arrivals.map(\.stages), is: ["spawn=expired"])
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0), within: .seconds(20))
            }
        }

        @Test("A second signal ends the service without waiting for unfinished messages")
        func second() async throws {
            try await Scene.play(partitions: 1) { scene in
                let service = try scene.start(
                    ServiceConfiguration(
                        delivery: [("deadline", "600s"), ("shutdown-grace", "600s")],
                        stages: ["sleep: { marker: slow, time: 600s }"]))
                try await service.wait(forPartitionsRead: 1)
                // The sleeping message is taken before the other.
                try await scene.feeder.publish(Event.series(2, keys: 2, marking: 2))
                try await expect(scene.outputs.wait(count: 1).map(\.event.isMarked), is: [false])
                service.send(SIGTERM)
                try await service.wait(forLine: "shutting down: intake stops")
                #expect(service.end == nil)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                expect(service.lines(with: "to the next owner").count, is: 1)
            }
        }

        @Test("A blocked thread does not delay the end, and unfinished messages pass to the next owner")
        func blockOthers() async throws {
            try await Scene.play { scene in
                let service = try scene.start(
                    ServiceConfiguration(
                        delivery: [("deadline", "120s"), ("shutdown-grace", "2s")],
                        stages: ["block: { marker: slow, time: 3600s }"]))
                try await service.wait(forLine: "serving partitions")
                let events = Event.series(100, keys: 100, marking: 100)
                try await scene.feeder.publish(events)
                try await scene.outputs.wait(count: 1)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0), within: .seconds(20))
                _ = try await finish(scene, events)
            }
        }
    }
}
