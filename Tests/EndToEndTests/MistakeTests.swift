import Glibc
import PushmillTestSupport
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
    }
}
