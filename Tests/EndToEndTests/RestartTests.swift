import Glibc
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Restarts after a kill")
    struct RestartTests {
        @Test("With default settings, a service publishes again within ten seconds of a kill", .thorough)
        func defaults() async throws {
            try await restart(ServiceConfiguration(), within: .seconds(10) + Self.mockDelay)
        }

        @Test(
            "A static member publishes again within four seconds of a kill",
            .disabled(if: Brokers.areMock, "the mock cluster knows no static members"))
        func named() async throws {
            try await restart(ServiceConfiguration(consumer: [("group.instance.id", "one")]), within: .seconds(4))
        }

        /// After the session has timed out, the mock cluster takes the session timeout less a second for a rebalance:
        /// 15 s on an idle machine.
        private static var mockDelay: Duration { Brokers.areMock ? .seconds(20) : .zero }

        private func restart(_ configuration: ServiceConfiguration, within limit: Duration) async throws {
            try await Scene.play { scene in
                let first = try scene.startAsIs(configuration)
                try await scene.feeder.publish(Event.series(1, keys: 1))
                try await scene.outputs.wait(count: 1)
                first.send(SIGKILL)
                let killed = ContinuousClock.now
                try await first.expectEnd(.signalled(SIGKILL))
                let second = try scene.startAsIs(configuration)
                let event = Event(key: "k0", number: 1)
                try await scene.feeder.publish([event])
                try await scene.outputs.wait(for: "an event after the restart") { $0.contains { $0.event == event } }
                let took = killed.duration(to: .now)
                // The mock cluster takes 5 s more for each further rebalance, such as when one shard joins late.
                let more = max(0, second.lines(with: "partitions assigned").count - 2)
                #expect(took < limit + (Brokers.areMock ? Duration.seconds(5) * more : .zero))
                print("restart: published again after \(took)")
            }
        }
    }
}
