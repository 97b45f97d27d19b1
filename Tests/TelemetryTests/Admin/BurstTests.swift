import Synchronization
import Testing

@testable import PushmillTelemetry

@Suite struct BurstTests {
    @Test("A thousand scrapes on connections of their own share a few renderings")
    func burst() async throws {
        let test = try TestServer()
        let renderings = Atomic(0)
        test.registry.measure(MetricDescription(.gauge, "test_renderings", "Test.")) {
            renderings.add(1, ordering: .relaxed)
            return [.init(1)]
        }
        let clock = ContinuousClock()
        let time = try clock.measure {
            for _ in 0..<20 {
                // All fifty wait at the same time.
                let clients = try (0..<50).map { _ in try test.connect() }
                for client in clients {
                    client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                }
                for client in clients { #expect(client.readToEnd().contains("test_renderings 1.0\n")) }
            }
        }
        #expect(renderings.load(ordering: .relaxed) <= 2 + Int(time / .milliseconds(100)))
        #expect(time < .seconds(20))
    }
}
