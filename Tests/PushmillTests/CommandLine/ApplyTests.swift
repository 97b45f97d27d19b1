import PushmillPayload
import PushmillStages
import PushmillTestSupport
import Synchronization
import Testing

@testable import Pushmill

@Suite("apply")
struct ApplyTests {
    /// Greets the recipient in the body, and removes the member `/secret`.
    private struct Greeting: Stage {
        let name = "greeting"

        func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
            content.body = "Hello \(context.recipient ?? "nobody")\(context.header("x") ?? "")"
            if let secret = JSONPointer("/secret") { content.remove(secret) }
            return .ok
        }
    }

    private struct Hanging: Stage {
        let name = "hanging"

        func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
            try await Task.sleep(for: .seconds(3600))
            return .ok
        }
    }

    private struct Counter: CountingStage, ImmediateStage {
        let name = "counter"

        func didReceive(_ content: inout NotificationContent, context: StageContext) -> StageResult {
            timeWillExpire(&content, context: context)
        }

        func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
            guard let count = context.count else { return .failed("no-recipient") }
            content.badgeOperation = .add(1)
            content.badge = Int(count) + 1
            return .ok
        }

        func didPass(
            clearing content: NotificationContent, context: StageContext
        ) -> (BadgeOperation?, StageResult) { (.set(0), .ok) }
    }

    private let registry = StageRegistry(adding: [
        StageEntry("greeting") { _ in { _ in Greeting() } },
        StageEntry("hanging") { _ in { _ in Hanging() } },
        StageEntry("counter") { _ in { _ in Counter() } },
    ])
    private let payload = #"{"aps":{"alert":{"body":"?"},"mutable-content":1},"secret":1}"#

    private func apply(
        _ stages: String, _ options: String, _ input: String, files: [String: String] = [:], settings: String = ""
    ) async throws -> (Terminal, ExitCode) {
        let folder = try ConfigurationFolder("stages: [\(stages)]\n\(settings)")
        for (name, text) in files { try folder.write(name, text) }
        let terminal = Terminal(registry: registry, input: input)
        let line = "apply --config \(folder.file) " + options.replacing("FOLDER", with: folder.path)
        return (terminal, await terminal.run(Program.commands, line))
    }

    @Test("The payload is printed as it is published, and the outcome on standard error")
    func payloads() async throws {
        let (terminal, code) = try await apply("greeting", "--key anna --header x=! --header y=", payload)
        expect(code, is: .success)
        expect(terminal.output, is: #"{"aps":{"alert":{"body":"Hello anna!"},"mutable-content":1}}"#)
        expect(terminal.error, is: "modified: greeting=ok")
        let (accented, _) = try await apply("greeting", "--key anna --header x=\u{301}", payload)
        expect(accented.output, is: "{\"aps\":{\"alert\":{\"body\":\"Hello anna\u{301}\"},\"mutable-content\":1}}")
    }

    @Test(
        "Printed text ends with one line end, whichever line end the payload has",
        arguments: [("", "\n"), ("{}", "{}\n"), ("{}\n", "{}\n"), ("{}\r\n", "{}\r\n"), ("{}\r", "{}\r\n")])
    func lineEnd(_ text: String, _ printed: String) {
        expect(Console.ended(text), is: Array(printed.utf8))
    }

    @Test(
        "Control characters in foreign text are escaped on a terminal",
        arguments: [
            ("one\ttwo\nthree é\u{301}", "one\ttwo\nthree é\u{301}"), ("\u{1B}[2J\u{7}", #"\u{1B}[2J\u{7}"#),
            ("\u{9B}2J\r\n", "\\u{9B}2J\\u{D}\n"), ("\u{202E}txt\u{2028}\u{2066}", #"\u{202E}txt\u{2028}\u{2066}"#),
        ])
    func shown(_ text: String, _ printed: String) { expect(text.visible(keepsLines: true), is: printed) }

    @Test("--explain shows what each stage changed")
    func explained() async throws {
        let (terminal, code) = try await apply("greeting, counter", "--key anna --explain", payload)
        expect(code, is: .success)
        let told = terminal.error.replacing(/[0-9]+\.[0-9] us/, with: "# us")
        expect(
            told,
            is: """
                  greeting: ok, # us
                    ~ /aps/alert/body: "?" -> "Hello anna"
                    - /secret: 1
                  counter: ok, # us
                    + /aps/badge: 1
                modified: greeting=ok,counter=ok
                """)
    }

    @Test("--explain shows each line's changes, also of stages that only count")
    func explainedLines() async throws {
        let input = [
            #"{"key":"anna","payload":"{\"aps\":{\"alert\":\"For Anna\",\"mutable-content\":1}}"}"#,
            #"{"key":"bert","payload":"{\"aps\":{\"badge\":0}}"}"#,
            #"{"key":"bert","ts":2000,"headers":["apns-expiration","1"],"#
                + #""payload":"{\"aps\":{\"alert\":\"For Bert\",\"mutable-content\":1}}"}"#,
        ]
        let (terminal, code) = try await apply("counter", "--lines --explain", input.joined(separator: "\n"))
        expect(code, is: .success)
        let told = terminal.error.replacing(/[0-9]+\.[0-9] us/, with: "# us")
        expect(
            told,
            is: """
                line 1:
                  counter: ok, # us
                    + /aps/badge: 1
                modified: counter=ok
                line 2:
                  counter: ok, # us
                passed: counter=ok
                line 3:
                  counter: ok, # us
                    + /aps/badge: 1
                expired: counter=ok
                """)
    }

    @Test("A payload that cannot be a notification is bad data")
    func deadLetter() async throws {
        let (terminal, code) = try await apply("greeting", "", #"{"aps":"#)
        expect(code, is: .badData)
        expect(terminal.output, is: "")
        expect(terminal.error, is: "dead-letter: not-json: not JSON: unexpected end at byte 7")
    }

    @Test("A hanging stage is given up at the deadline, or when its budget ends")
    func hanging() async throws {
        let (late, lateCode) = try await apply(
            "hanging, greeting", "", payload, settings: "delivery: { deadline: 50ms }")
        expect(lateCode, is: .success)
        expect(late.error, is: "best-attempt: hanging=expired,greeting=expired")
        let (terminal, code) = try await apply("hanging: { budget: 50ms }, greeting", "", payload)
        expect(code, is: .success)
        expect(terminal.error, is: "modified: hanging=expired,greeting=ok")
    }

    @Test("With --lines each line is one record, and its timestamp sets the clock")
    func lines() async throws {
        let record = { (expiration: Int, payload: String) in
            #"{"topic":"in","partition":1,"offset":2,"tstype":"create","ts":1700000000000,"headers":["apns-id","i","#
                + #""apns-expiration","\#(expiration)"],"key":"anna","payload":"\#(payload)"}"#
        }
        let gated = #"{\"aps\":{\"alert\":\"?\",\"mutable-content\":1}}"#
        let input = [record(1_699_999_999, gated), "", record(1_700_000_001, gated), record(0, "x")]
        let (terminal, code) = try await apply("greeting", "--lines", input.joined(separator: "\n"))
        expect(code, is: .success)
        let lines = terminal.output.split(separator: "\n").map { try? RecordEnvelope(line: Array($0.utf8)) }
        expect(lines.map { $0?.topic }, is: ["push.notifications", "push.notifications", "push.dead-letters"])
        let outcomes = lines.map { line in
            line?.headers.last { $0.name.elementsEqual("pushmill-outcome".utf8) }?.value.map {
                String(decoding: $0, as: UTF8.self)
            }
        }
        expect(outcomes, is: ["expired", "modified", "dead-letter"])
        #expect(lines.allSatisfy { $0?.key == Array("anna".utf8) && $0?.timestamp == 1_700_000_000_000 })
        expect(terminal.error, is: "")
    }

    @Test("An expired record that is dropped gives no line")
    func dropped() async throws {
        let record = #"{"ts":2000,"headers":["apns-expiration","1"],"payload":"{\"aps\":{}}"}"#
        let (terminal, code) = try await apply("greeting", "--lines", record, settings: "delivery: { expired: drop }")
        expect(code, is: .success)
        expect(terminal.output, is: "")
    }

    @Test("Counts start at 0 or as in a file, and carry over from line to line")
    func counts() async throws {
        let line =
            #"{"key":"KEY","headers":["apns-topic","com.x"],"payload":"{\"aps\":{\"alert\":\"?\",\"mutable-content\":1}}"}"#
        let input = ["anna", "anna", "bert"].map { line.replacing("KEY", with: $0) }.joined(separator: "\n")
        let (terminal, _) = try await apply(
            "counter", "--lines --badges FOLDER/badges.jsonl", input,
            files: ["badges.jsonl": #"{"recipient":"bert","app":"com.x","count":7}"# + "\n"])
        let badges = terminal.output.split(separator: "\n").map { line in
            line.firstMatch(of: /badge\\":([0-9]+)/).map { String($0.1) }
        }
        expect(badges, is: ["1", "2", "8"])
    }

    @Test(
        "A line that is not a record ends the command with the line's number",
        arguments: [
            ("{}", "line 2: not a record envelope: it has neither `payload` nor `payload_b64`"),
            ("x", "line 2: not JSON: unexpected byte at byte 0"),
            (#"{"payload":1}"#, "line 2: not a record envelope: cannot read its `payload`"),
        ])
    func badLine(_ line: String, _ message: String) async throws {
        let (terminal, code) = try await apply("greeting", "--lines", #"{"payload":null}"# + "\n\(line)\n")
        expect(code, is: .badData)
        expect(terminal.output.split(separator: "\n").count, is: 1)
        expect(terminal.error, is: "pushmill: \(message)")
    }

    /// An input of 70 MiB in pieces, and the error that it causes.
    private final class LongInput: Sendable {
        private static let piece = [UInt8](repeating: 0x20, count: 1 << 20)
        private let left = Atomic(70)
        private let told = Mutex("")

        var error: String { told.withLock { $0 } }

        var console: Console {
            Console(
                output: { _ in }, error: { [self] line in told.withLock { $0 += line } },
                input: { [self] () throws(ProgramError) in
                    left.wrappingSubtract(1, ordering: .relaxed).newValue < 0 ? [] : Self.piece
                })
        }
    }

    @Test(
        "Input that seems to have no end is refused",
        arguments: [("", "too-large: the input is over 64 MiB"), (" --lines", "line 1: longer than 64 MiB")])
    func longInput(_ option: String, _ message: String) async throws {
        let folder = try ConfigurationFolder("stages: [greeting]")
        let input = LongInput()
        let surroundings = Surroundings(registry: registry, environment: [:], console: input.console)
        let arguments = "apply --config \(folder.file)\(option)".split(separator: " ").map { String($0) }
        await expect(Program.commands.run(arguments, surroundings), is: .badData)
        expect(input.error, is: "pushmill: \(message)")
    }

    @Test("The payload and the configuration cannot both be standard input", arguments: ["-", "/dev/stdin"])
    func configurationOfInput(path: String) async {
        let terminal = Terminal(input: payload)
        await expect(terminal.run(Program.commands, "apply --config \(path)"), is: .usage)
        let message = "pushmill: --config FILE: must be a file, because 'apply' reads its input there"
        expect(terminal.error.split(separator: "\n").first, is: message[...])
    }

    @Test("The payload and the counts cannot both be standard input", arguments: ["-", "/dev/stdin"])
    func countsOfInput(path: String) async throws {
        let (terminal, code) = try await apply("greeting", "--badges \(path)", payload)
        expect(code, is: .usage)
        let message = "pushmill: --badges FILE: must be a file, because 'apply' reads its input there"
        expect(terminal.error.split(separator: "\n").first, is: message[...])
    }

    @Test("The error names a missing file of counts once")
    func noCounts() async throws {
        let (terminal, _) = try await apply("greeting", "--badges /nowhere", payload)
        expect(terminal.error, is: "pushmill: /nowhere: No such file or directory")
    }

    @Test(
        "Invalid options and unreadable counts are refused",
        arguments: [
            ("--header x", ExitCode.usage), ("--header =x", .usage), ("--lines --key anna", .usage),
            ("--badges /nowhere", .badData), ("--badges FOLDER/pushmill.yaml", .badData),
        ])
    func refused(_ options: String, _ expected: ExitCode) async throws {
        let (terminal, code) = try await apply("greeting", options, payload)
        expect(code, is: expected)
        #expect(terminal.error.hasPrefix("pushmill: "))
    }
}
