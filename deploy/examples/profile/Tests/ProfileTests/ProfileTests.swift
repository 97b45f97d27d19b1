import Foundation
import Pushmill
import PushmillTesting
import Testing

@testable import Profile

@Suite("profile")
struct ProfileTests {
    private let message = #"{"aps":{"alert":{"body":"See you at 12"},"mutable-content":1},"from":"c1"}"#

    private func stage(_ server: ProfileServer) throws -> ProfileStage {
        ProfileStage(service: try #require(URL(string: server.url)))
    }

    @Test("The sender's name becomes the title")
    func name() async throws {
        let server = try ProfileServer { $0 == "/profiles/c1" ? (200, #"{"name":"Zoë Martin"}"#) : (404, "") }
        let result = await StageTest(try stage(server)).run(message)
        #expect(result.summary == "modified: profile=ok")
        #expect(result.title == "Zoë Martin")
        #expect(result.body == "See you at 12")
    }

    @Test("An identifier stays one path component, whatever characters it contains")
    func escaping() async throws {
        let server = try ProfileServer { path in (200, #"{"name":"\#(path)"}"#) }
        let result = await StageTest(try stage(server)).run(message.replacing("c1", with: "../admin?a=b c"))
        #expect(result.title == "/profiles/..%2Fadmin%3Fa=b%20c")
    }

    @Test(
        "If the service has no valid answer, the stage shows the fallback and counts the reason",
        arguments: [
            (404, "", "unknown"), (500, "", "failed:unavailable"), (200, "<html>", "failed:malformed"),
            (200, #"{"name":""}"#, "failed:malformed"),
        ])
    func failure(status: Int, body: String, result: String) async throws {
        let server = try ProfileServer { _ in (status, body) }
        let stage = try stage(server)
        let published = await StageTest(stage).run(message)
        #expect(published.outcome == .modified)
        #expect(published.stages["profile"]?.description == result)
        #expect(published.title == "Someone")
        #expect(stage.results.map(\.description).contains(result), "metrics would not have it from the start")
    }

    @Test("If the service is down, the stage fails and shows the fallback")
    func down() async throws {
        // Nothing listens there.
        let service = try #require(URL(string: "http://127.0.0.1:1/"))
        let result = await StageTest(ProfileStage(service: service)).run(message)
        #expect(result.summary == "modified: profile=failed:unavailable")
        #expect(result.title == "Someone")
    }

    @Test("At the deadline the request is canceled and the fallback shown", .timeLimit(.minutes(1)))
    func deadline() async throws {
        let server = try ProfileServer { _ in nil }
        let test = StageTest(try stage(server))
        let result = await test.expire(message) { await server.wait(for: .asked("/profiles/c1")) }
        #expect(result.summary == "best-attempt: profile=expired")
        #expect(result.title == "Someone")
        // The connection is closed although the session still exists.
        await server.wait(for: .left)
        withExtendedLifetime(test) {}
    }

    @Test("When its budget ends, only this stage is given up", .timeLimit(.minutes(1)))
    func budget() async throws {
        let server = try ProfileServer { _ in nil }
        let test = try await StageTest(
            configuration: """
                stages:
                  - profile: { service: "\(server.url)", fallback: Somebody, budget: 2s }
                  - badge: { mode: absolute }
                """, stages: [ProfileStage.entry])
        let message = message.replacing(#""mutable"#, with: #""badge":7,"mutable"#)
        async let result = test.run(message, recipient: "anna")
        await server.wait(for: .asked("/profiles/c1"))
        await test.advance(by: .seconds(2))
        #expect(await result.summary == "modified: profile=expired,badge=ok")
        #expect(await result.title == "Somebody")
        await server.wait(for: .left)
        withExtendedLifetime(test) {}
    }

    @Test("A message whose deadline has passed sends no request")
    func late() async throws {
        let server = try ProfileServer { _ in
            Issue.record("it was asked")
            return nil
        }
        let result = await StageTest(try stage(server)).expire(message)
        #expect(result.summary == "best-attempt: profile=expired")
        #expect(result.title == "Someone")
    }

    @Test("A message without a sender stays unchanged")
    func withoutSender() async throws {
        let server = try ProfileServer { _ in nil }
        let payload = #"{ "aps": {"alert":"Hello", "mutable-content":1} }"#
        let result = await StageTest(try stage(server)).run(payload)
        #expect(result.summary == "modified: profile=skipped")
        #expect(result.payload == payload)
    }

    @Test("The sample is a complete configuration, and a service that is not a URL is refused")
    func settings() async throws {
        _ = try await StageTest(configurationFile: "../../Sample/profile.yaml", stages: [ProfileStage.entry])
        let error = await #expect(throws: (any Error).self) {
            try await StageTest(configuration: "stages: [{ profile: { service: c1 } }]", stages: [ProfileStage.entry])
        }
        #expect(error.map { "\($0)" }?.contains("expected a URL such as") == true)
    }
}
