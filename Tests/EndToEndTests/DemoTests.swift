import Glibc
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("The demo as a process")
    struct DemoTests {
        @Test("The demo prints every event and a summary; a second demo takes another port")
        func demo() async throws {
            let first = try ServiceProcess(["demo", "--for", "1h", "--quiet"])
            let second = try ServiceProcess(
                ["demo", "--events", "40", "--rate", "10"],
                environment: [
                    "PUSHMILL_KAFKA_BOOTSTRAP_SERVERS=127.0.0.1:1", "PUSHMILL_TOPICS_INPUT=others",
                    "PUSHMILL_STAGES_ATTACHMENT_STORE=/nowhere", "PUSHMILL_STAGES_DECRYPT_KEYS=/nowhere",
                ])
            try await second.expectEnd(.exited(0))
            expect(second.lines.count { $0.hasPrefix("    +  ") || $0.hasPrefix("    =  ") }, is: 40)
            #expect(second.lines.contains { $0.contains("Zoë Martin") })
            let rows = second.lines.compactMap { $0.firstMatch(of: /^([a-z-]+) +([0-9]+)/)?.output }
            let counts = Dictionary(rows.map { (String($0.1), Int($0.2) ?? 0) }) { $1 }
            expect(
                counts,
                is: [
                    "modified": 31, "passed": 4, "dead-letter": 3, "expired": 1, "best-attempt": 1, "all": 40,
                ])
            try await first.wait(forLine: "The page is at")
            expect(Set([first, second].map { $0.lines(with: "The page is at") }).count, is: 2)
            first.send(SIGINT)
            try await first.expectEnd(.exited(0))
            #expect(first.lines.contains { $0.hasPrefix("all ") })
            for service in [first, second] { try await service.clear() }
        }

        @Test("The demo ends once the reader of its output is gone")
        func unread() async throws {
            let demo = "'\(ServiceProcess.folder)/PushmillEndToEndService' demo --for 1h"
            let shell = try ServiceProcess(["-c", "\(demo) | head -n 1"], executable: "/bin/sh")
            try await shell.expectEnd(.exited(0))
            expect(shell.lines(with: "The page is at").count, is: 1)
            try await shell.clear()
        }

        @Test("Senseless arguments are refused", arguments: [["--events", "0"], ["--rate", "x"], ["--for", "soon"]])
        func usage(_ arguments: [String]) async throws {
            let demo = try ServiceProcess(["demo"] + arguments)
            try await demo.expectEnd(.exited(64))
            try await demo.clear()
        }
    }
}
