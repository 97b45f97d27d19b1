import Glibc
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Exactly once, whatever happens to three instances", .needsTransactions)
    struct ChaosTests {
        private static let rate = 4_000
        private let count = TakeoverTests.count

        @Test("A single instance commits every output exactly once")
        func alone() async throws {
            let events = Event.series(8_000, keys: 400)
            try await Scene.play(partitions: 4) { scene in
                let service = try scene.start(.exactlyOnce(0, of: scene))
                try await service.wait(forLine: #""serving partitions""#)
                try await scene.feeder.publish(events, rate: Self.rate)
                try await scene.outputs.wait(count: events.count)
                let delays = scene.outputs.all.map(\.delay).sorted()
                print(
                    "visible: \(delays[delays.count / 2]) ms at the median, \(delays[delays.count / 100 * 99]) ms at 99%"
                )
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                let arrivals = try await scene.allOutputs()
                #expect(arrivals.missing(of: events).isEmpty && arrivals.repeats.isEmpty)
                try await expect(scene.committed().doneCount, is: events.count)
            }
        }

        @Test(
            "While instances are killed, stopped and replaced, no output is lost or repeated"
        )
        func outputs() async throws {
            let events = Event.series(count, keys: 2_000)
            try await Scene.play(partitions: 12) { scene in
                let fleet = try Fleet(scene, (0..<3).map { ServiceConfiguration.exactlyOnce($0, of: scene) })
                try await fleet[0].wait(forLine: #""serving partitions""#)
                async let fed: Void = scene.feeder.publish(events, rate: Self.rate)
                let acts = try await Self.disturb(fleet, until: { scene.outputs.all.count >= events.count })
                try await fed
                try await scene.outputs.wait(count: events.count, within: .seconds(60))
                try await fleet.end()
                let arrivals = try await scene.allOutputs()
                #expect(arrivals.missing(of: events).isEmpty)
                #expect(arrivals.repeats.isEmpty)
                #expect(arrivals.keysOutOfOrder.isEmpty)
                #expect(scene.deadLetters.all.isEmpty)
                print("chaos: \(count) records, \(acts)")
            }
        }

        @Test("Badges are right, whichever instance counts an event and however often it is redone")
        func badges() async throws {
            var counts: [String: Int] = [:]
            let events = BadgeEvent.series(count, recipients: 1_000, marking: 10, seed: 9, counts: &counts)
            // The changelog keeps no counts of 0.
            let final = counts.filter { $0.value > 0 }
            try await Scene.play(partitions: 12) { scene in
                let fleet = try Fleet(
                    scene,
                    (0..<3).map { number in
                        var configuration = ServiceConfiguration.exactlyOnce(number, of: scene)
                        configuration.stages = ["badge: {}"]
                        return configuration
                    })
                try await fleet[0].wait(forLine: #""serving partitions""#)
                async let fed: Void = scene.feeder.publish(events.map(\.input), rate: Self.rate)
                let acts = try await Self.disturb(fleet, until: { scene.outputs.all.count >= events.count })
                try await fed
                try await scene.outputs.wait(count: events.count, within: .seconds(60))
                try await fleet.end()
                let values = try await elsewhere { try scene.readValues() }
                defer { values.stop() }
                let all = try await values.wait(count: scene.outputs.all.count)
                let wanted = Set(events.map(\.output))
                expect(all.count, is: wanted.count)
                #expect(wanted.subtracting(all).isEmpty)
                #expect(Set(all).subtracting(wanted).prefix(5).isEmpty, "a badge that no event has")
                try await expect(BadgeTests.counts(at: scene), is: final)
                print("chaos with badges: \(count) records, \(acts)")
            }
        }

        /// Kills, ends and stops instances at random. Returns a summary.
        private static func disturb(_ fleet: Fleet, until isOver: () -> Bool) async throws -> String {
            var random = SeededGenerator(seed: 9)
            var acts: [String: Int] = [:]
            let end = ContinuousClock.now + .seconds(600)
            while !isOver(), end > .now {
                let index = Int.random(in: 0..<fleet.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    acts["killed", default: 0] += 1
                    try await fleet.replace(index, by: SIGKILL)
                case 1:
                    acts["left and came", default: 0] += 1
                    try await fleet.replace(index, by: SIGTERM)
                case 2:
                    acts["stopped beyond its session", default: 0] += 1
                    try await fleet.pause(index, for: .seconds(8))
                default:
                    acts["stopped", default: 0] += 1
                    try await fleet.pause(index, for: .seconds(1))
                }
                for end in try fleet.tend() { acts["ended itself: \(end)", default: 0] += 1 }
                try await Task.sleep(for: .milliseconds(Int.random(in: 200..<3000, using: &random)))
            }
            _ = try fleet.tend()
            return acts.map { "\($0.value) \($0.key)" }.sorted().joined(separator: ", ")
        }
    }
}
