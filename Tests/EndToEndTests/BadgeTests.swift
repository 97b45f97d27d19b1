import Glibc
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Badges count each event once")
    struct BadgeTests {
        /// `PUSHMILL_TEST_BADGES` and `PUSHMILL_TEST_KILLS` raise these numbers.
        private static let total = number("PUSHMILL_TEST_BADGES") ?? 12_000
        private static let kills = number("PUSHMILL_TEST_KILLS") ?? 3
        private static let seed = UInt64(number("PUSHMILL_TEST_SEED") ?? 1)

        private static func number(_ variable: String) -> Int? {
            getenv(variable).flatMap { Int(String(cString: $0)) }
        }

        @Test(
            "A service killed repeatedly publishes each event's own count and keeps the last ones",
            .thorough,
            arguments: [["badge: {}"], ["sleep: { marker: slow, time: 50ms }", "badge: {}"]])
        func kills(stages: [String]) async throws {
            var counts: [String: Int] = [:]
            let events = BadgeEvent.series(Self.total, recipients: 1000, marking: 10, seed: Self.seed, counts: &counts)
            let final = counts.filter { $0.value > 0 }
            try await Scene.play(partitions: 16) { scene in
                let values = try await elsewhere { try scene.readValues() }
                defer { values.stop() }
                try await scene.feeder.publish(events.map(\.input))
                var random = SeededGenerator(seed: Self.seed)
                let configuration = ServiceConfiguration(stages: stages)
                for kill in 1...Self.kills {
                    let service = try scene.start(configuration)
                    let share = Self.total / (Self.kills + 1)
                    let moment = share * kill - Int.random(in: 0..<share, using: &random)
                    try await values.wait(count: max(1, moment))
                    service.send(SIGKILL)
                    try await service.expectEnd(.signalled(SIGKILL))
                }
                let wanted = Set(events.map(\.output))
                let last = try scene.start(configuration)
                // All outputs may have come by now, and a service told to end before it has begun has no orderly end.
                try await last.wait(forPartitionsRead: 16)
                try await values.wait(for: "every event", within: .seconds(180)) { values in
                    values.count >= wanted.count && wanted.isSubset(of: values)
                }
                // The last one killed may have published everything, but not stored its last counts in the changelog.
                _ = try await scene.committed(within: .seconds(180)) { $0.doneCount == Self.total }
                last.send(SIGTERM)
                try await last.expectEnd(.exited(0))
                // A repeated output shows the count of its time.
                var seen: Set<Substring> = []
                let first = values.all.filter { value in
                    seen.insert("\(value.key) \(value.value.prefix { $0 != "a" })"[...]).inserted
                }
                expect(Set(first), is: wanted, "a badge that no event has")
                try await Self.expectCounts(final, at: scene)
                print("badges: \(Self.kills) kills, \(values.all.count - wanted.count) of \(Self.total) repeated")
            }
        }

        enum Obstacle: CaseIterable { case fullDisk, unwritableFile }

        @Test(
            "Counts stay right while their files cannot be written, and the log reports it",
            .enabled(if: SmallDisk.mayMount, "needs the right to mount"), arguments: Obstacle.allCases)
        func obstacle(_ obstacle: Obstacle) async throws {
            var counts: [String: Int] = [:]
            let first = BadgeEvent.series(1000, recipients: 50, marking: 10, seed: 1, counts: &counts)
            let second = BadgeEvent.series(1000, recipients: 50, marking: 10, seed: 2, counts: &counts)
            let final = counts.filter { $0.value > 0 }
            let disk = try SmallDisk()
            try await Scene.play { scene in
                let values = try await elsewhere { try scene.readValues() }
                defer { values.stop() }
                let service = try scene.start(
                    ServiceConfiguration(stages: ["badge: {}"], state: "\(disk.folder.path)/state.sqlite"))
                try await scene.feeder.publish(first.map(\.input))
                try await values.wait(count: first.count)
                switch obstacle {
                case .fullDisk: try disk.fill()
                case .unwritableFile: try await service.limitFileSize(0)
                }
                try await scene.feeder.publish(second.map(\.input))
                try await service.wait(forLine: "cannot write the file of a partition's counts")
                try await values.wait(count: first.count + second.count)
                switch obstacle {
                case .fullDisk: disk.makeRoom()
                case .unwritableFile: try await service.limitFileSize(nil)
                }
                let told = service.lines.filter { $0.contains("badge counts") || $0.contains("partition's counts") }
                #expect(told.count > 2 && told.allSatisfy { $0.contains(#""stage":"badge""#) }, "\(told)")
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                expect(Set(values.all.map(\.value)), is: Set((first + second).map(\.output.value)))
                try await Self.expectCounts(final, at: scene)
            }
        }

        @Test(
            "A message that leaves while its stage blocks a thread is counted once, in order",
            arguments: ["block", "stall"])
        func blocked(stage: String) async throws {
            var counts: [String: Int] = [:]
            let events = BadgeEvent.series(20, recipients: 2, marking: 2, seed: 5, counts: &counts)
            let final = counts.filter { $0.value > 0 }
            try await Scene.play { scene in
                let values = try await elsewhere { try scene.readValues() }
                defer { values.stop() }
                let service = try scene.start(
                    ServiceConfiguration(
                        delivery: [("deadline", "500ms")],
                        stages: ["\(stage): { marker: slow, time: 3s }", "badge: {}"]))
                try await scene.feeder.publish(events.map(\.input))
                try await values.wait(count: events.count)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                for key in final.keys {
                    let expected = events.filter { $0.key == key }.map(\.output)
                    expect(values.all.filter { $0.key == key }, is: expected)
                }
                try await Self.expectCounts(final, at: scene)
            }
        }

        @Test("A second service on a state file in use says so and exits with 70")
        func inUse() async throws {
            try await Scene.play { scene in
                let configuration = ServiceConfiguration(stages: ["badge: {}"])
                let first = try scene.start(configuration)
                try await first.wait(forLine: "serving partitions")
                let second = try scene.start(configuration)
                // The file may be free by the next start.
                try await second.expectEnd(.exited(70))
                expect(second.lines.last?.contains("in use by another process"), is: true)
            }
        }

        @Test(
            "No command sets or deletes a count while an instance runs",
            .disabled(if: Brokers.areMock, "the mock cluster does not tell who is in a group"))
        func running() async throws {
            try await Scene.play(partitions: 1) { scene in
                let values = try await elsewhere { try scene.readValues() }
                defer { values.stop() }
                var counts: [String: Int] = [:]
                let events = BadgeEvent.series(10, recipients: 1, marking: 10, seed: 6, counts: &counts)
                let key = try #require(counts.keys.first)
                let service = try scene.start(ServiceConfiguration(stages: ["badge: {}"]))
                try await scene.feeder.publish(events.map(\.input))
                try await values.wait(count: events.count)
                for command in [["badges", "set", key, "7"], ["badges", "delete", key]] {
                    let told = try await scene.run(command, expecting: 70)
                    #expect(told.contains { $0.contains("members, which would undo the change: stop the service") })
                }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                try await Self.expectCounts(counts.filter { $0.value > 0 }, at: scene)
                _ = try await scene.run(["badges", "set", key, "7"])
                try await Self.expectCounts([key: 7], at: scene)
            }
        }

        private static func expectCounts(_ final: [String: Int], at scene: Scene) async throws {
            let kept = try await counts(at: scene)
            let wrong = Set(kept.keys).union(final.keys).filter { kept[$0] != final[$0] }
            #expect(wrong.isEmpty, "\(wrong.map { "\($0): \(kept[$0] ?? -1), not \(final[$0] ?? -1)" })")
        }

        /// The counts in the changelog.
        static func counts(at scene: Scene) async throws -> [String: Int] {
            var counts: [String: Int] = [:]
            for line in try await scene.run(["badges", "export"]) {
                let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
                guard parts.count == 11, let count = Int(parts[10].filter(\.isNumber)) else { continue }
                counts[String(parts[3])] = count
            }
            return counts
        }
    }
}
