import Testing

@testable import Telemetry

@Suite struct ProbeRequestTests {
    @Test(
        "A health check gets the status and the reasons, also at an address that stands for all",
        arguments: [true, false])
    func asked(_ isAlive: Bool) throws {
        let test = try TestServer(alive: { isAlive ? [] : [ProbeReason("lane-stuck", "Held.")] })
        let address = try ListenAddress("0.0.0.0:\(test.address.port)")
        let answer = try ProbeRequest(address).get("/healthz")
        #expect(answer.status == (isAlive ? 200 : 503))
        #expect(answer.body.contains("lane-stuck") == !isAlive)
    }

    @Test("No answer is an error that says so")
    func gone() throws {
        let test = try TestServer()
        test.server.close()
        #expect(throws: TelemetryError.self) { try ProbeRequest(test.address).get("/healthz") }
    }
}
