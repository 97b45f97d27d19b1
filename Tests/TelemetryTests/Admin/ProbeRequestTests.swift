import Glibc
import Testing

@testable import PushmillTelemetry

@Suite struct ProbeRequestTests {
    @Test(
        "A health check gets the status and the reasons, also at an address that stands for all",
        arguments: [true, false])
    func asked(_ isAlive: Bool) throws {
        let test = try TestServer(alive: { isAlive ? [] : [ProbeReason("lane-stuck", "Held.")] })
        let address = try ListenAddress("0.0.0.0:\(test.address.port)")
        let answer = try ProbeRequest(address, patience: 30).get("/healthz")
        #expect(answer.status == (isAlive ? 200 : 503))
        #expect(answer.body.contains("lane-stuck") == !isAlive)
    }

    @Test("A health check that is interrupted goes on")
    func interrupted() throws {
        let former = signal(SIGUSR2) { _ in }
        defer { signal(SIGUSR2, former) }
        // A worker thread hears of no signals.
        var signals = sigset_t()
        sigaddset(&signals, SIGUSR2)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        defer { pthread_sigmask(SIG_BLOCK, &signals, nil) }
        let asking = pthread_self()
        let test = try TestServer(alive: {
            // Nobody is told when the answer is waited for: the first ones may come before.
            for _ in 0..<20 {
                pthread_kill(asking, SIGUSR2)
                usleep(1_000)
            }
            return []
        })
        #expect(try ProbeRequest(test.address, patience: 30).get("/healthz").status == 200)
    }

    @Test("No answer is an error that says so")
    func gone() throws {
        let test = try TestServer()
        test.server.close()
        #expect(throws: TelemetryError.self) { try ProbeRequest(test.address).get("/healthz") }
    }
}
