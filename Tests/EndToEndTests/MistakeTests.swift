import Glibc
import PushmillKafka
import PushmillPayload
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Operators' mistakes")
    struct MistakeTests {
        @Test("A faulty configuration is refused with the line of each mistake")
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
                    expect(service.lines.count { $0.contains("service.yaml\(place)") }, is: 1, "\(service.lines)")
                }
                expect(service.lines.count, is: 4)
            }
        }

        @Test("A missing configuration file is named")
        func noFile() async throws {
            let service = try ServiceProcess(["run", "--config", "/nowhere/service.yaml"])
            try await service.expectEnd(.exited(78))
            expect(service.lines.count, is: 1)
            #expect(service.lines.allSatisfy { $0.contains("/nowhere/service.yaml") })
            try await service.clear()
        }

        @Test("A command whose result cannot be written fails and says why", arguments: ["apply", "config show"])
        func fullOutput(command: String) async throws {
            let folder = try TemporaryFolder()
            let file = try folder.write("stages: []\n", to: "pushmill.yaml")
            let payload = try folder.write(#"{"aps":{"alert":"hello"}}"#, to: "payload.json")
            try await runShell("'\(Self.program)' \(command) --config \(file) < \(payload) > /dev/full") { shell in
                try await shell.expectEnd(.exited(70))
                expect(shell.lines.last, is: "pushmill: cannot write the output: No space left on device")
            }
        }

        @Test(
            "A long-running command ends when its output cannot be written",
            arguments: ["broker", "demo --for 1h"])
        func fullOutputForLong(command: String) async throws {
            try await runShell("'\(Self.program)' \(command) > /dev/full") { shell in
                try await shell.expectEnd(.exited(70))
                expect(shell.lines.last, is: "pushmill: cannot write the output: No space left on device")
            }
        }

        @Test("`apply --lines` stops reading endless input when its output cannot be written")
        func fullOutputForLines() async throws {
            let folder = try TemporaryFolder()
            let file = try folder.write("stages: []\n", to: "pushmill.yaml")
            let line = #"{"topic":"a","partition":0,"offset":0,"ts":0,"key":"k","payload":"{\"aps\":{}}"}"#
            let apply = "'\(Self.program)' apply --lines --config \(file)"
            try await runShell("timeout 60 yes '\(line)' 2> /dev/null | \(apply) > /dev/full") { shell in
                try await shell.expectEnd(.exited(70), within: .seconds(30))
                expect(shell.lines.last, is: "pushmill: cannot write the output: No space left on device")
            }
        }

        @Test("Closed input is an error: no descriptor opened later is read in its place")
        func closedInput() async throws {
            let folder = try TemporaryFolder()
            // This stage opens descriptors before the input is read, and keeps them.
            let stage = "attachment: { store: media, public-base: https://m.example, allow-hosts: m.example }"
            let file = try folder.write("stages: [\(stage)]\n", to: "pushmill.yaml")
            try await runShell("'\(Self.program)' apply --config \(file) <&-") { shell in
                try await shell.expectEnd(.exited(65))
                expect(shell.lines.last, is: "pushmill: cannot read standard input: Bad file descriptor")
            }
        }

        /// The released program, which does not end when its input does.
        private static let program = "\(ServiceProcess.folder)/pushmill"

        private func runShell(_ script: String, _ body: (ServiceProcess) async throws -> Void) async throws {
            try await follow(ServiceProcess(["-c", script], executable: "/bin/sh"), body)
        }

        private static func configure(_ cluster: MockCluster, _ folder: TemporaryFolder) throws -> String {
            try cluster.createTopic("push.events", partitions: 1)
            let servers = cluster.bootstrapServers
            return try folder.write("{ kafka: { bootstrap.servers: '\(servers)' }, stages: [] }", to: "service.yaml")
        }

        @Test("A capture ended before its first record leaves the earlier file unchanged")
        func emptyCapture() async throws {
            let cluster = try MockCluster()
            let folder = try TemporaryFolder()
            let configuration = try Self.configure(cluster, folder)
            let before = #"{"payload":"old"}"#
            let file = try folder.write(before, to: "events.jsonl")
            let capture = try ServiceProcess(["capture", "--config", configuration, "--follow", "--output", file])
            try await folder.wait { $0.contains("events.jsonl.partial") }
            capture.send(SIGINT)
            try await capture.expectEnd(.exited(0))
            expect(capture.lines(with: "no records received").count, is: 1)
            try expect(FileBytes(path: file).bytes, is: Array(before.utf8))
            expect(folder.names, is: ["events.jsonl", "service.yaml"])
            try await capture.clear()
        }

        @Test("A capture into a pipe without a reader ends when told to")
        func unreadPipe() async throws {
            let cluster = try MockCluster()
            let folder = try TemporaryFolder()
            let configuration = try Self.configure(cluster, folder)
            let pipe = "\(folder.path)/pipe"
            expect(mkfifo(pipe, 0o600), is: 0)
            let capture = try ServiceProcess(["capture", "--config", configuration, "--output", pipe])
            // The kernel function in which a process that opens a pipe waits; not every process may learn it.
            let opening = Array("wait_for_partner".utf8)
            var tries = 0
            while tries < 500, try FileBytes(path: "/proc/\(capture.identifier)/wchan").bytes != opening {
                try await Task.sleep(for: .milliseconds(10))
                tries += 1
            }
            capture.send(SIGTERM)
            try await capture.expectEnd(.signalled(SIGTERM))
            try await capture.clear()
        }

        private func run(_ text: String, _ body: (ServiceProcess) async throws -> Void) async throws {
            let folder = try TemporaryFolder()
            try await follow(ServiceProcess(["run", "--config", folder.write(text, to: "service.yaml")]), body)
        }

        private func follow(_ service: ServiceProcess, _ body: (ServiceProcess) async throws -> Void) async throws {
            do {
                try await body(service)
            } catch {
                Issue.record("\(error)\n\(service.lines.suffix(40).joined(separator: "\n"))")
            }
            try await service.clear()
        }
    }
}
