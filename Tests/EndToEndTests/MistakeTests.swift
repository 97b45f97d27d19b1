import Glibc
import Kafka
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Mistakes of those who operate it")
    struct MistakeTests {
        @Test("A configuration with mistakes is refused with the place of each")
        func configuration() async throws {
            try await run(
                """
                kafka:
                  consumer:
                    sesion.timeout.ms: 5000
                topics:
                  input: [in]
                  output: in
                  dead-letter: dead
                delivery:
                  deadline: soon
                stages:
                  - slep: { marker: slow }
                """
            ) { service in
                try await service.expectEnd(.exited(78))
                for place in [":3:", ":6:", ":9:", ":11:"] {
                    #expect(service.lines.count { $0.contains("service.yaml\(place)") } == 1, "\(service.lines)")
                }
                #expect(service.lines.count == 4)
            }
        }

        @Test("A file that is not there is named")
        func noFile() async throws {
            let service = try ServiceProcess(["run", "--config", "/nowhere/service.yaml"])
            try await service.expectEnd(.exited(78))
            #expect(service.lines.count == 1)
            #expect(service.lines.allSatisfy { $0.contains("/nowhere/service.yaml") })
            try await service.clear()
        }

        @Test("Brokers that cannot be reached are named, and while they are awaited the service can be ended")
        func unreachable() async throws {
            try await run(Self.plain(bootstrapServers: "127.0.0.1:1")) { service in
                try await service.wait(forLine: #""no broker answers yet","broker":"127.0.0.1:1""#)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0), within: .seconds(10))
            }
        }

        @Test("Brokers that stay out of reach are waited for, and readiness says so")
        func neverReached() async throws {
            try await run(Self.plain(bootstrapServers: "127.0.0.1:1")) { service in
                try await service.wait(forLine: "no broker answers yet", count: 2)
                #expect(try await service.get("/readyz").contains("no broker answers at 127.0.0.1:1"))
                #expect(try await service.get("/healthz").contains(" 200 "))
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test(
            "A topic that the brokers do not know is named", .enabled(if: Brokers.areMock, "others may create it"),
            arguments: ["in", "out", "dead"])
        func unknownTopic(name: String) async throws {
            let brokers = try Brokers()
            let mock = try #require(brokers.mock)
            for topic in ["in", "out", "dead"] { try brokers.createTopic(topic, partitions: 1) }
            mock.setTopicError(name, code: 3)
            try await run(Self.plain(bootstrapServers: brokers.bootstrapServers)) { service in
                try await service.expectEnd(.exited(78))
                #expect(service.lines.last?.contains("the brokers know no topic \(name)") == true)
            }
        }

        private func run(_ text: String, _ body: (ServiceProcess) async throws -> Void) async throws {
            let folder = try TemporaryFolder()
            let service = try ServiceProcess(["run", "--config", folder.write(text, to: "service.yaml")])
            do {
                try await body(service)
            } catch {
                Issue.record("\(error)\n\(service.lines.suffix(40).joined(separator: "\n"))")
            }
            try await service.clear()
        }

        private static func plain(bootstrapServers: String) -> String {
            ServiceConfiguration().text(
                bootstrapServers: bootstrapServers, group: "g", input: "in", output: "out", deadLetters: "dead")
        }
    }
}
