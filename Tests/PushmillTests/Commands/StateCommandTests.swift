import FoundationEssentials
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("Commands on the embedded state")
struct StateCommandTests {
    /// A folder with a configuration, deleted after the test.
    private final class Folder: Sendable {
        let path = FileManager.default.temporaryDirectory.path + "/pushmill-state-\(UUID().uuidString)"
        var state: String { "\(path)/s.sqlite" }

        init() throws {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try write(
                "c.yaml",
                """
                topics: { input: [a], output: b, dead-letter: c }
                kafka: { bootstrap.servers: embedded, consumer: { group.id: g } }
                state: { path: s.sqlite }
                """)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ name: String, _ text: String) throws {
            try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"))
        }

        /// Runs a command. `@` in its words stands for this folder.
        func run(_ command: String, _ terminal: Terminal = Terminal()) async -> (code: ExitCode, output: String) {
            var words = command.replacing("@", with: "\(path)/").split(separator: " ")
            words.insert("--config=\(path)/c.yaml", at: 2)
            let code = await terminal.run(Program.commands, words.joined(separator: " "))
            let said = code == .success ? terminal.output : terminal.error
            return (code, said.replacing("\(path)/", with: "@"))
        }
    }

    private let folder: Folder

    init() throws { folder = try Folder() }

    private func expect(_ command: String, _ output: String, _ code: ExitCode = .success) async {
        let ran = await folder.run(command)
        #expect(ran.code == code, "\(command)")
        #expect(ran.output == output, "\(command)")
    }

    @Test("Contacts are imported, exported and deleted, also for one owner")
    func contacts() async throws {
        try folder.write(
            "contacts",
            """
            {"owner":"anna","id":"c1","name":"Zoë \\"Z\\""}
            {"id":"c9","name":"Public"}
            {"owner":"boris","id":"c1","name":"Zoe"}
            """)
        let anna = #"{"owner":"anna","id":"c1","name":"Zoë \"Z\""}"# + "\n"
        let others = #"{"owner":"boris","id":"c1","name":"Zoe"}"# + "\n"
        let directory = #"{"owner":"*","id":"c9","name":"Public"}"# + "\n"
        for _ in 0..<2 { await expect("contacts import @contacts", "3 contacts imported") }
        await expect("contacts export", directory + anna + others)
        await expect("contacts export --owner anna", anna)
        await expect("contacts delete anna --id c9", "0 contacts deleted")
        await expect("contacts delete anna --id c1", "1 contacts deleted")
        await expect("contacts export", directory + others)
        await expect("contacts delete * --id c9", "1 contacts deleted")
        await expect("contacts delete boris", "1 contacts deleted")
        await expect("contacts export", "")
    }

    @Test("Exported contacts import elsewhere unchanged, whatever characters they contain")
    func exported() async throws {
        try folder.write(
            "contacts",
            #"""
            {"id":"c9","name":"Public"}
            {"owner":"a\u0022n\\n\ta\u0001","id":"c\/1 \u00e9\n","name":"Zo\u00eb \"Z\" \\"}
            {"owner":"anna\u0000","id":"\ud83d\ude00","name":"x"}
            """#)
        let directory = #"{"owner":"*","id":"c9","name":"Public"}"# + "\n"
        let others = #"""
            {"owner":"a\"n\\n\ta\u0001","id":"c/1 é\n","name":"Zoë \"Z\" \\"}
            {"owner":"anna\u0000","id":"😀","name":"x"}

            """#
        await expect("contacts import @contacts", "3 contacts imported")
        await expect("contacts export", directory + others)
        await expect("contacts export --owner *", directory)
        let elsewhere = try Folder()
        try elsewhere.write("exported", await folder.run("contacts export").output)
        await #expect(elsewhere.run("contacts import @exported").output == "3 contacts imported")
        await #expect(elsewhere.run("contacts export").output == directory + others)
    }

    @Test("If contacts come from a file, import is refused; export and delete use the store")
    func contactsOfFile() async throws {
        try folder.write("contacts", #"{"owner":"anna","id":"c9","name":"Public"}"#)
        await expect("contacts import @contacts", "1 contacts imported")
        try folder.write(
            "c.yaml", "state: { path: s.sqlite }\nstages: [contact: { source: people.jsonl, owner-from: [key] }]")
        let refusal = "pushmill: the contacts come from the file @people.jsonl: change them there"
        await expect("contacts import @contacts", refusal, .badData)
        let terminal = Terminal()
        await expect("contacts export", #"{"owner":"anna","id":"c9","name":"Public"}"# + "\n")
        await #expect(folder.run("contacts delete anna", terminal).code == .success)
        #expect(terminal.output == "1 contacts deleted")
        #expect(terminal.error.hasPrefix("warning: the service reads contacts from the file "))
    }

    @Test("If contacts come from a topic, export works; import and delete are refused")
    func contactsOfTopic() async throws {
        try folder.write("contacts", #"{"id":"c9","name":"Public"}"#)
        await expect("contacts import @contacts", "1 contacts imported")
        try folder.write("c.yaml", "state: { path: s.sqlite }\nstages: [contact: { source: topic:people }]")
        let refusal = "pushmill: the contacts are a copy of the topic people: publish changes there"
        await expect("contacts import @contacts", refusal, .badData)
        await expect("contacts delete anna", refusal, .badData)
        await expect("contacts export", #"{"owner":"*","id":"c9","name":"Public"}"# + "\n")
    }

    @Test(
        "Errors name the file, and the line if there is one",
        arguments: [
            ("contacts export", "no state at @s.sqlite", ExitCode.badData),
            ("contacts import @bad", #"@bad:2: no name"#, .badData),
            ("contacts import @none", "@none: No such file or directory", .badData),
        ])
    func mistakes(_ command: String, _ message: String, _ code: ExitCode) async throws {
        try folder.write("bad", "\n{\"id\":\"c1\"}")
        await expect(command, "pushmill: \(message)", code)
    }

    @Test("An import that fails reports how many contacts it imported before the error")
    func brokenImport() async throws {
        let contacts = (1...10_001).map { #"{"id":"c\#($0)","name":"x"}"# }
        try folder.write("contacts", contacts.joined(separator: "\n") + "\n{\"id\":\"c0\"}")
        let told = "contacts imported before this error: 10001\npushmill: @contacts:10002: no name"
        await expect("contacts import @contacts", told, .badData)
        await #expect(folder.run("contacts export").output.split(separator: "\n").count == 10_001)
        try folder.write("none", "")
        let terminal = Terminal()
        await #expect(folder.run("contacts import @none", terminal).output == "0 contacts imported")
        #expect(terminal.error.isEmpty)
    }

    @Test("An invalid count is a usage error", arguments: ["-- -1", "2147483648", "1.5", "many"])
    func noCount(_ count: String) async {
        let ran = await folder.run("badges set anna \(count)")
        #expect(ran.code == .usage)
        #expect(ran.output.hasPrefix("pushmill: COUNT: expected an integer from 0 to 2147483647, found"))
    }
}
