import Glibc
import PushmillTestSupport
import Testing

@testable import PushmillTelemetry

@Suite struct ProbeRequestTests {
    @Test(
        "A health check of 0.0.0.0 gets the status and the reasons",
        arguments: [true, false])
    func asked(_ isAlive: Bool) throws {
        let test = try TestServer(alive: { isAlive ? [] : [ProbeReason("lane-stuck", "Held.")] })
        let address = try ListenAddress("0.0.0.0:\(test.address.port)")
        let answer = try ProbeRequest(address, patience: 30).get("/healthz")
        expect(answer.status, is: (isAlive ? 200 : 503))
        expect(answer.body.contains("lane-stuck"), is: !isAlive)
    }

    @Test("A health check goes on after a signal interrupts it")
    func interrupted() throws {
        let former = signal(SIGUSR2) { _ in }
        defer { signal(SIGUSR2, former) }
        // A worker thread blocks signals.
        var signals = sigset_t()
        sigaddset(&signals, SIGUSR2)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        defer { pthread_sigmask(SIG_BLOCK, &signals, nil) }
        let asking = pthread_self()
        let test = try TestServer(alive: {
            // Nothing tells when the probe waits for the answer: the first signals may come before.
            for _ in 0..<20 {
                pthread_kill(asking, SIGUSR2)
                usleep(1_000)
            }
            return []
        })
        try expect(ProbeRequest(test.address, patience: 30).get("/healthz").status, is: 200)
    }

    @Test("An endless answer from another program counts as no answer", .timeLimit(.minutes(1)))
    func endless() throws {
        let socket = try ListeningSocket(ListenAddress("127.0.0.1:0"))
        let program = try Thread(named: "endless") { [descriptor = socket.descriptor] in
            var events = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            poll(&events, 1, -1)
            let connection = accept(descriptor, nil, nil)
            let bytes = [UInt8](repeating: 0x20, count: 1 << 16)
            // 64 MB, much more than a probe keeps; a probe that kept it all would see its end in time.
            for _ in 0..<1024 where send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) <= 0 { break }
            close(connection)
        }
        #expect(throws: TelemetryError.noAnswer("\(socket.address)", ETIMEDOUT)) {
            try ProbeRequest(socket.address, patience: 30).get("/healthz")
        }
        program.join()
        close(socket.descriptor)
    }

    @Test("A closed server is an error of the health check")
    func gone() throws {
        let test = try TestServer()
        test.server.close()
        #expect(throws: TelemetryError.self) { try ProbeRequest(test.address).get("/healthz") }
    }

    @Test("A service that sends no answer is a timeout error")
    func silent() throws {
        let listening = try ListeningSocket(ListenAddress("127.0.0.1:0"))
        defer { close(listening.descriptor) }
        #expect(throws: TelemetryError.noAnswer("\(listening.address)", ETIMEDOUT)) {
            try ProbeRequest(listening.address, patience: 1).get("/healthz")
        }
    }

    @Test("An answer has a total time limit, however steadily its bytes arrive")
    func dripping() throws {
        let listening = try ListeningSocket(ListenAddress("127.0.0.1:0"))
        let peer = try Thread(named: "drips") {
            var event = pollfd(fd: listening.descriptor, events: Int16(POLLIN), revents: 0)
            poll(&event, 1, 30_000)
            let client = accept(listening.descriptor, nil, nil)
            for _ in 0..<500 where send(client, "x", 1, Int32(MSG_NOSIGNAL)) == 1 { usleep(20_000) }
            close(client)
        }
        defer {
            peer.join()
            close(listening.descriptor)
        }
        #expect(throws: TelemetryError.noAnswer("\(listening.address)", ETIMEDOUT)) {
            try ProbeRequest(listening.address, patience: 1).get("/healthz")
        }
    }
}
