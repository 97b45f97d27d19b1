import Glibc
import PushmillPayload
import PushmillStages
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("replay, capture and redrive from the command line")
struct ReplayCommandTests {
    private let folder: ConfigurationFolder
    private let events = (0..<20).map { index in
        #"{"topic":"push.events","partition":0,"offset":\#(index),"ts":1700000000000,"key":"anna","#
            + #""payload":"{\"aps\":{\"alert\":{\"loc-key\":\"HELLO\"},\"mutable-content\":1}}"}"#
    }

    init() throws {
        folder = try ConfigurationFolder("stages: [localize: { catalog: ., default-locale: en }]")
        try folder.write("events.jsonl", events.joined(separator: "\n"))
        try folder.makeFolder("en.lproj")
        try translate("Hello")
    }

    private func translate(_ text: String) throws {
        try folder.write("en.lproj/Localizable.strings", "\"HELLO\" = \"\(text)\";")
    }

    private func run(_ line: String, in other: ConfigurationFolder? = nil) async -> (Terminal, ExitCode) {
        let folder = other ?? folder
        let terminal = Terminal(registry: StageRegistry(adding: []))
        let code = await terminal.run(
            Program.commands,
            line.replacing("CONFIG", with: "--config \(folder.file)").replacing("FOLDER", with: folder.path))
        return (terminal, code)
    }

    @Test("A report does not overwrite a file that the replay reads", arguments: ["--json", "--junit", "--html"])
    func overwriting(option: String) async throws {
        try folder.write("badges.jsonl", #"{"recipient":"anna","app":"","count":1}"#)
        let golden = "--baseline FOLDER/golden.jsonl --badges FOLDER/badges.jsonl"
        await expect(run("replay FOLDER/events.jsonl CONFIG \(golden) --update").1, is: .success)
        expect(symlink("golden.jsonl", "\(folder.path)/link.jsonl"), is: 0)
        for path in ["events.jsonl", "golden.jsonl", "link.jsonl", "badges.jsonl", "pushmill.yaml"] {
            let (terminal, code) = await run("replay FOLDER/events.jsonl CONFIG \(golden) \(option) FOLDER/\(path)")
            #expect(code == .usage && terminal.error.contains("'\(folder.path)/\(path)' is read and would be"))
        }
        await expect(run("replay FOLDER/events.jsonl CONFIG \(golden) \(option) FOLDER/report").1, is: .success)
    }

    @Test("A golden capture is written, compared with, and updated")
    func golden() async throws {
        let replay = "replay FOLDER/events.jsonl CONFIG --baseline FOLDER/golden.jsonl"
        let (first, written) = await run("\(replay) --update")
        expect(written, is: .success)
        expect(first.output, is: "")
        await expect(run(replay).1, is: .success)
        try translate("Hi")
        let (terminal, different) = await run("\(replay) --json FOLDER/report.json")
        expect(different, is: .different)
        #expect(terminal.output.hasPrefix("20 records: 0 the same, 20 changed\n"))
        #expect(
            terminal.output.contains(
                "/aps/alert/body changed in 20 of 20\n  push.events/0/0\n    - \"Hello\"\n    + \"Hi\""))
        expect(access("\(folder.path)/report.json", F_OK), is: 0)
        await expect(run("\(replay) --json /dev/full").1, is: .internalFailure)
        await expect(run("\(replay) --json FOLDER/none/report.json").1, is: .badData)
        await expect(run("\(replay) --update").1, is: .success)
        await expect(run(replay).1, is: .success)
    }

    @Test("A stage that was late in the baseline shows the catalog's text again")
    func recordedDeadline() async throws {
        let folder = try ConfigurationFolder(
            "stages: [contact: { source: people.jsonl, unknown: HELLO }, localize: { catalog: . }]")
        try folder.write("people.jsonl", "")
        try folder.write("events.jsonl", events[0].replacing(#"{\"loc-key\":\"HELLO\"}"#, with: #"\"{contact:c1}\""#))
        try folder.makeFolder("en.lproj")
        try folder.write("en.lproj/Localizable.strings", #""HELLO" = "Hello";"#)
        func replay(_ option: String) async -> ExitCode {
            await run("replay FOLDER/events.jsonl CONFIG --baseline FOLDER/golden.jsonl \(option)", in: folder).1
        }
        await expect(replay("--update"), is: .success)
        let lines = try InputFile(path: "\(folder.path)/golden.jsonl").rest(limit: 10_000)
        var golden = String(decoding: lines, as: UTF8.self)
        #expect(golden.contains(#"\"alert\":\"Hello\""#))
        for (old, new) in [
            ("modified", "best-attempt"), ("contact=miss,localize=skipped", "contact=expired,localize=expired"),
        ] {
            #expect(golden.contains(old))
            golden = golden.replacing(old, with: new)
        }
        try folder.write("golden.jsonl", golden)
        await expect(replay("--deadlines recorded"), is: .success)
        await expect(replay("--deadlines off"), is: .different)
    }

    @Test("The worked example matches its golden capture")
    func example() async throws {
        let parts = "\(#filePath)".split(separator: "/").dropLast(4)
        let example = "/" + parts.joined(separator: "/") + "/deploy/regression"
        let terminal = Terminal(registry: StageRegistry(adding: []))
        let code = await terminal.run(
            Program.commands,
            "replay \(example)/capture.jsonl --config \(example)/pushmill.yaml --baseline \(example)/golden.jsonl")
        expect(code, is: .success)
        #expect(terminal.output.hasPrefix("60 records: 60 the same, 0 changed\n"))
    }

    @Test(
        "Invalid options are a usage error, and unreadable input is bad data",
        arguments: [
            ("replay FOLDER/events.jsonl CONFIG", ExitCode.usage),
            ("replay FOLDER/events.jsonl CONFIG --baseline x --from 2h", .usage),
            ("replay FOLDER/events.jsonl CONFIG --baseline topic:x --update", .usage),
            ("replay FOLDER/events.jsonl CONFIG --baseline x --outcome modifed", .usage),
            ("replay - CONFIG --baseline x --badges /dev/stdin", .usage),
            ("replay FOLDER/events.jsonl CONFIG --baseline - --update", .usage),
            ("replay FOLDER/events.jsonl CONFIG --baseline x --json FOLDER/report --html FOLDER/report", .usage),
            ("replay FOLDER/events.jsonl CONFIG --baseline FOLDER/none", .badData),
            ("replay FOLDER/none CONFIG --baseline FOLDER/events.jsonl", .badData),
            ("replay FOLDER/events.jsonl CONFIG --baseline FOLDER/events.jsonl", .badData),
            ("replay FOLDER/pushmill.yaml CONFIG --baseline FOLDER/events.jsonl", .badData),
            ("capture CONFIG --from yesterday", .usage), ("capture CONFIG --partition x", .usage),
            ("redrive CONFIG --reason not-jsn", .usage), ("redrive CONFIG --dry-run --send", .usage),
            ("redrive CONFIG --since soon", .usage), ("redrive CONFIG --since 1h --until 2h", .usage),
        ])
    func refused(_ line: String, _ expected: ExitCode) async throws {
        let (terminal, code) = await run(line)
        expect(code, is: expected)
        #expect(terminal.error.contains("pushmill: "))
        expect(terminal.output, is: "")
    }
}
