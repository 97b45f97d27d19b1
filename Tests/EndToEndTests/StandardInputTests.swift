import PushmillTestSupport
import Testing

extension EndToEnd {
    /// Runs the program as released, since the tests' own service reads its standard input itself.
    @Suite("Commands that read their standard input")
    struct StandardInputTests {
        private let folder: TemporaryFolder
        private let configuration: String

        init() throws {
            folder = try TemporaryFolder()
            configuration = try folder.write(
                """
                topics: { input: [a], output: b, dead-letter: c }
                kafka: { bootstrap.servers: embedded, consumer: { group.id: g } }
                state: { path: s.sqlite }
                """, to: "service.yaml")
        }

        /// Runs a shell line in which COMMAND stands for the command and FILE for a file. Returns what it says.
        private func run(
            _ command: String, _ shell: String = "COMMAND", configuration: String? = nil
        ) async throws -> (lines: [Substring], end: ServiceProcess.End?) {
            let file = configuration ?? self.configuration
            let program = "'\(ServiceProcess.folder)/pushmill' \(command) --config '\(file)'"
            let line = shell.replacing("COMMAND", with: program).replacing("FILE", with: "'\(folder.path)/contacts'")
            let process = try ServiceProcess(["-c", line], executable: "/bin/sh")
            try await process.waitForEnd()
            try await process.clear()
            return (process.lines, process.end)
        }

        @Test("Contacts are imported from a pipe as from a file", arguments: ["cat FILE | COMMAND", "COMMAND < FILE"])
        func contacts(_ shell: String) async throws {
            let lines = (0..<3000).map { #"{"owner":"*","id":"c\#(10_000 + $0)","name":"Name \#($0)"}"# }
            try folder.write(lines.joined(separator: "\n"), to: "contacts")
            let imported = try await run("contacts import -", shell)
            #expect(imported.lines == ["3000 contacts imported"] && imported.end == .exited(0))
            let exported = try await run("contacts export")
            #expect(exported.lines.map { String($0) } == lines && exported.end == .exited(0))
        }

        @Test("Input is read from its current position, and closed input is an error")
        func rest() async throws {
            try folder.write("heading\n" + #"{"id":"c1","name":"x"}"#, to: "contacts")
            let imported = try await run("contacts import -", "{ read heading; COMMAND; } < FILE")
            #expect(imported.lines == ["1 contacts imported"] && imported.end == .exited(0))
            let closed = try await run("contacts import -", "COMMAND <&-")
            #expect(closed.lines == ["pushmill: /dev/stdin:1: Bad file descriptor"] && closed.end == .exited(65))
        }

        @Test(
            "Replay reads a capture and initial counts from a pipe as from a file",
            arguments: ["cat FILE | COMMAND", "COMMAND < FILE"])
        func replayed(_ shell: String) async throws {
            let record = #"{"topic":"a","partition":0,"offset":0,"ts":1,"key":"anna","payload":"{\"aps\":{}}"}"#
            let capture = try folder.write(record, to: "capture")
            let golden = "--baseline '\(folder.path)/golden'"
            let written = try await run("replay '\(capture)' \(golden) --update")
            expect(written.end, is: .exited(0))
            let counts = #"{"recipient":"anna","app":"","count":1}"#
            for (command, text) in [("-", record), ("'\(capture)' --badges -", "\u{FEFF}\(counts)")] {
                try folder.write(text, to: "contacts")
                let replayed = try await run("replay \(command) \(golden)", shell)
                #expect(replayed.lines.first == "1 records: 1 the same, 0 changed" && replayed.end == .exited(0))
            }
            try folder.write("{}", to: "contacts")
            let mistake = try await run("replay '\(capture)' \(golden) --badges -", shell)
            #expect(
                mistake.lines.first?.hasPrefix("pushmill: /dev/stdin: line 1") == true && mistake.end == .exited(65))
        }

        @Test(
            "Configuration on standard input is read from its position; paths are relative to the working directory",
            arguments: ["-", "/dev/stdin"])
        func configured(_ name: String) async throws {
            try folder.write("heading\nstate: { path: s.sqlite }", to: "contacts")
            let shell = "cd '\(folder.path)' && { read heading; COMMAND; } < FILE"
            let shown = try await run("config show", shell, configuration: name)
            #expect(shown.lines.contains("  path: \(folder.path)/s.sqlite") && shown.end == .exited(0))
            let closed = try await run("config show", "COMMAND <&-", configuration: name)
            #expect(closed.lines == ["pushmill: /dev/stdin: Bad file descriptor"] && closed.end == .exited(78))
        }

        @Test("An invalid contact line is reported with its number")
        func mistake() async throws {
            try folder.write(#"{"id":"c1","name":"x"}"# + "\n" + #"{"id":"c2"}"#, to: "contacts")
            let imported = try await run("contacts import -", "cat FILE | COMMAND")
            expect(
                imported.lines, is: ["contacts imported before this error: 1", "pushmill: /dev/stdin:2: no name"])
            expect(imported.end, is: .exited(65))
        }
    }
}
