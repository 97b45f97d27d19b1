import Glibc
import PushmillTestSupport
import Testing

@testable import PushmillTelemetry

@Suite struct HostileClientTests {
    @Test(
        "After a malformed request the server still answers others",
        arguments: [
            "\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", "GET  /metrics HTTP/1.1\r\n\r\n",
            "GET /metrics HTTP/9.9\r\n\r\n", "GET /metrics HTTP/1.1\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
            "GET /%zz%00%ff?%=%&&= HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET http://other/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET /logs?level=%00&contains=%ff%fe&limit=%31 HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET /metrics HTTP/1.1\r\nHost x\r\n\r\n", "GET /metrics HTTP/1.1\r\n: x\r\n\r\n",
            "GET /metrics HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", "GET /metrics HTTP/1.1\nHost: localhost\n\n",
            "PUT /log-level HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
            "PUT /log-level HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "PUT /log-level HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "PUT /log-level HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            "GET /metrics HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        ])
    func malformed(_ request: String) throws {
        // If the server takes the bytes for the beginning of a request, it waits for the rest.
        var limits = AdminLimits()
        limits.idleSeconds = 1
        let test = try TestServer(limits: limits)
        let client = try test.connect()
        client.send(request)
        shutdown(client.descriptor, Int32(SHUT_WR))
        _ = client.readToEnd()
        // On a busy machine this connection may also reach the idle timeout before it sends its request.
        let isAnswered = try (0..<3).contains { _ in try test.ask("GET /healthz").contains(" 200 OK") }
        #expect(isAnswered)
    }

    @Test("After random bytes and corrupted requests the server still answers")
    func fuzz() throws {
        let test = try TestServer()
        var random = SeededGenerator(seed: 7)
        let request = Array(
            "PUT /log-level?a=b%20c HTTP/1.1\r\nHost: localhost\r\nAccept: */*;q=1\r\nContent-Length: 4\r\n\r\ninfo"
                .utf8)
        for round in 0..<300 {
            var bytes =
                round.isMultiple(of: 3) ? (0..<200).map { _ in UInt8.random(in: 0...255, using: &random) } : request
            for _ in 0..<3 {
                bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
            }
            let client = try test.connect()
            client.send(bytes)
            if round.isMultiple(of: 2) { shutdown(client.descriptor, Int32(SHUT_WR)) }
        }
        #expect(try test.ask("GET /healthz").contains(" 200 OK"))
    }

    @Test("A request with a head or a body over the limit is refused")
    func tooLarge() throws {
        let test = try TestServer()
        let long = String(repeating: "x", count: 40_000)
        #expect(try !test.ask("GET /\(long)").contains(" 200 "))
        #expect(try !test.ask("GET /healthz", headers: "X-Long: \(long)\r\n").contains(" 200 "))
        #expect(try test.ask("PUT /log-level", body: String(long.prefix(1_025))).hasPrefix("HTTP/1.1 413 "))
        let chunked = "Transfer-Encoding: chunked\r\n"
        let body = "500\r\n\(long.prefix(0x500))\r\n0\r\n\r\n"
        let client = try test.connect()
        client.send("PUT /log-level HTTP/1.1\r\nHost: localhost\r\n\(chunked)\r\n\(body)")
        #expect(!client.readToEnd().contains(" 200 "))
        expect(test.log.level, is: .debug)
    }

    @Test(
        "A request that says twice where its body ends is not answered",
        arguments: [
            "Content-Length: 4\r\nContent-Length: 5\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        ])
    func ambiguous(headers: String) throws {
        let test = try TestServer()
        let client = try test.connect()
        client.send("PUT /log-level HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n5\r\nerror\r\n0\r\n\r\n")
        expect(client.readToEnd(), is: "")
        expect(test.log.level, is: .debug)
    }

    @Test("A client that writes a byte at a time is answered and delays no other")
    func slowWriter() throws {
        // On a busy machine the loop may take longer than the time limit of a request.
        var limits = AdminLimits()
        limits.request = .seconds(120)
        let test = try TestServer(limits: limits)
        let slow = try test.connect()
        for byte in "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8 {
            slow.send([byte])
            #expect(try test.ask("HEAD /healthz").contains(" 200 OK"))
        }
        #expect(slow.readToEnd().contains(" 200 OK"))
    }

    @Test("A client that sends nothing, or half a request, is closed after the idle timeout")
    func idle() throws {
        var limits = AdminLimits()
        limits.idleSeconds = 1
        let test = try TestServer(limits: limits)
        let silent = try test.connect()
        let half = try test.connect()
        half.send("GET /metrics HTTP/1.1\r\nHo")
        #expect(!silent.readToEnd().contains(" 200 "))
        #expect(!half.readToEnd().contains(" 200 "))
    }

    @Test("A request has a total time limit, however steadily its bytes arrive")
    func dripping() throws {
        var limits = AdminLimits()
        limits.request = .milliseconds(300)
        let test = try TestServer(limits: limits)
        for start in ["", "PUT /log-level HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"] {
            let slow = try test.connect()
            slow.send(start)
            let end = ContinuousClock.now + .seconds(20)
            while slow.send("x"), .now < end { usleep(20_000) }
            #expect(.now < end)
        }
        // A connection that was answered and stays silent is closed too. The answer itself must come within the limit.
        limits.request = .seconds(5)
        let kept = try TestServer(limits: limits).connect()
        kept.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(kept.readToEnd().contains(" 200 OK"))
    }

    @Test("A new connection is answered however many are held, and streams stay open")
    func held() throws {
        var limits = AdminLimits()
        limits.connections = 8
        limits.streams = 4
        limits.idleSeconds = 120
        limits.request = .seconds(120)
        let test = try TestServer(limits: limits)
        let follower = try test.connect()
        follower.send("GET /logs?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        test.log.info("Begun")
        #expect(follower.read(through: "Begun").contains(" 200 OK"))
        let held = try (0..<40).map { number in
            let client = try test.connect()
            // Some send nothing, some half a request, some have been answered.
            client.send(
                ["", "GET /metrics HTTP/1.1\r\nHo", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"][number % 3])
            return client
        }
        for _ in 0..<20 {
            try expect(ProbeRequest(test.address, patience: 20).get("/healthz").status, is: 200)
        }
        test.log.info("Still")
        #expect(follower.read(through: "Still").contains("Still"))
        withExtendedLifetime(held) {}
    }
}
