import Glibc
import Testing

@testable import PushmillTelemetry

@Suite struct FollowTests {
    private let follow = "GET /logs?follow=1&limit=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"

    @Test("A follower gets recent lines and then new ones until the server closes")
    func following() throws {
        let test = try TestServer()
        test.log.info("First")
        let client = try test.connect()
        client.send(follow)
        #expect(client.read(through: "First").contains("Transfer-Encoding: chunked"))
        test.log.info("Second")
        #expect(client.read(through: "Second").contains("Second"))
        test.server.close()
        // The chunked body was ended properly, not cut off.
        #expect(client.readToEnd().hasSuffix("0\r\n\r\n"))
    }

    @Test("A follower that never reads delays no other client and is closed after the idle timeout")
    func neverReads() throws {
        var limits = AdminLimits()
        limits.idleSeconds = 3
        limits.streams = 1
        let test = try TestServer(limits: limits)
        let deaf = try test.connect()
        deaf.send(follow)
        _ = deaf.read(through: "\r\n\r\n")
        let path = String(repeating: "x", count: 1_000)
        // Another stream is refused as long as the deaf client holds the only place.
        let limit = ContinuousClock.now + .seconds(60)
        while try !test.ask("GET /logs?limit=0").contains(" 200 OK") {
            try #require(ContinuousClock.now < limit, "the deaf one keeps its place")
            for _ in 0..<1_000 { test.log.log(.debug, "Filling", [.path(path)]) }
        }
        #expect(try test.ask("GET /healthz").contains(" 200 OK"))
    }

    @Test("A stream beyond the limit is refused, and a closed stream frees its place")
    func tooMany() throws {
        var limits = AdminLimits()
        limits.streams = 2
        let test = try TestServer(limits: limits)
        test.log.info("First")
        let first = try test.connect()
        first.send(follow)
        _ = first.read(through: "First")
        do {
            let second = try test.connect()
            second.send(follow)
            _ = second.read(through: "First")
            #expect(try test.ask("GET /logs?follow=1").hasPrefix("HTTP/1.1 503 "))
        }
        var answer = ""
        while !answer.contains(" 200 OK") {
            test.log.log(.debug, "Notices who has left")
            answer = try test.ask("GET /logs?limit=0")
        }
    }

    @Test("A HEAD of the stream frees its place even if its connection stays open")
    func head() throws {
        var limits = AdminLimits()
        limits.streams = 1
        let test = try TestServer(limits: limits)
        let client = try test.connect()
        client.send("HEAD /logs?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(client.read(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200 OK\r\n"))
        for _ in 0..<3 { #expect(try test.ask("HEAD /logs?follow=1").hasPrefix("HTTP/1.1 200 OK\r\n")) }
        #expect(try test.ask("GET /logs?limit=0").hasPrefix("HTTP/1.1 200 OK\r\n"))
    }

    @Test("Thirty followers get the last line although thirty others never read")
    func many() async throws {
        let test = try TestServer()
        test.log.info("First")
        let followers = try (0..<60).map { _ in try test.connect() }
        for follower in followers { follower.send(follow) }
        for follower in followers[..<30] { _ = follower.read(through: "First") }
        for number in 0..<1_000 {
            test.log.log(.debug, "Many", [.count(number)])
            if number.isMultiple(of: 50) {
                #expect(try test.ask("GET /metrics").contains("test_total"))
            }
        }
        test.log.info("Last")
        for follower in followers[..<30] { #expect(follower.read(through: "Last").contains("Last")) }
    }
}
