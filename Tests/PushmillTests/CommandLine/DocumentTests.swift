import FoundationEssentials
import PushmillStages
import PushmillTestSupport
import Testing

@testable import Pushmill

/// Checks the command lines and configurations in documents with the program's own parsers. `deploy/check-documents`
/// checks the rest.
@Suite("Documents")
struct DocumentTests {
    private static let top = String(#filePath.split(separator: "/Tests/")[0])

    struct Document: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        var testDescription: String { name }
    }

    /// Every Markdown file of the repository.
    static let documents: [Document] = {
        let names =
            ["README.md"]
            + [".github", "Sources", "Tests", "deploy"].flatMap { folder in
                ((try? FileManager.default.subpathsOfDirectory(atPath: "\(top)/\(folder)")) ?? []).map {
                    "\(folder)/\($0)"
                }
            }
        return names.filter { $0.hasSuffix(".md") }.sorted().compactMap { name in
            (try? String(contentsOfFile: "\(top)/\(name)", encoding: .utf8)).map { Document(name: name, text: $0) }
        }
    }()

    /// The stages that the documents' examples have besides the built-in ones.
    private static let registry = StageRegistry(adding: [
        StageEntry("lottery") { settings in
            _ = settings.required("tickets", .file)
            return { _ in BadgeStage(mode: .increment) }
        }
    ])

    @Test("The program accepts every command line in a code block", arguments: documents)
    func commandLines(document: Document) throws {
        for line in document.blocks(["", "console", "sh"]).flatMap(\.commandLines) {
            for arguments in ShellLine(line).calls(of: "pushmill") {
                #expect(throws: Never.self, "\(line)") { try parse(arguments) }
            }
        }
    }

    @Test("Every command that a text names exists, with its options", arguments: documents)
    func named(document: Document) {
        let commands = Program.commands.commands
        for span in document.spans where span.hasPrefix("pushmill ") {
            let words = span.split(separator: " ").dropFirst().map { String($0) }
            let command = commands.first { words.starts(with: $0.words) }
            let isGroup = words.count == 1 && commands.contains { $0.words.count > 1 && $0.words[0] == words[0] }
            // `pushmill COMMAND --help` stands for any command.
            let isOfNone = words[0].hasPrefix("--") || words[0] == "COMMAND"
            #expect(command != nil || isGroup || isOfNone, "\(span)")
            let options = (command?.options.map { "--\($0.name)" } ?? []) + ["--help", "--version"]
            for word in words where word.hasPrefix("--") {
                #expect(options.contains(String(word.prefix { $0 != "=" })), "\(span)")
            }
        }
    }

    @Test("Every configuration in a code block is valid", arguments: documents)
    func configurations(document: Document) throws {
        let source = ConfigurationSource(
            registry: Self.registry, environment: [:])
        for block in document.blocks(["yaml"]) where block.isConfiguration {
            #expect(throws: Never.self, "\(block.text)") {
                try source.read(Array(block.text.utf8), name: document.name, folder: "/")
            }
        }
    }

    @Test("The table of stages has a row for each built-in stage and no other") func stages() throws {
        let name = "Sources/Pushmill/Pushmill.docc/LifeOfANotification.md"
        let document = try #require(Self.documents.first { $0.name == name })
        let rows = document.text.split(separator: "\n").drop { !$0.hasPrefix("| stage |") }.prefix { $0.hasPrefix("|") }
        let stages = rows.dropFirst(2).map { $0.dropFirst(3).prefix { $0 != "`" } }
        expect(stages.map { String($0) }, is: StageRegistry.builtIn.map(\.name))
    }

    @Test("The documents have enough examples to check") func sum() {
        let calls = Self.documents.flatMap { $0.blocks(["", "console", "sh"]).flatMap(\.commandLines) }
            .flatMap { ShellLine($0).calls(of: "pushmill") }
        #expect(calls.count > 15)
        #expect(Self.documents.flatMap { $0.blocks(["yaml"]).filter(\.isConfiguration) }.count > 3)
        #expect(Self.documents.flatMap(\.spans).filter { $0.hasPrefix("pushmill ") }.count > 30)
    }

    @Test(
        "A shell line is split into calls as the shell splits it",
        arguments: [
            ("pushmill apply --config f < p.json > o 2>&1", [["apply", "--config", "f"]]),
            (
                "printf 'a | b' | pushmill keys decrypt --keys k | pushmill x; A=1 pushmill \"y z\" &&",
                [
                    ["keys", "decrypt", "--keys", "k"], ["x"], ["y z"],
                ]
            ),
            ("until pushmill health --ready > /dev/null; do sleep 1; done", [["health", "--ready"]]),
            (".build/release/pushmill demo &", [["demo"]]), ("echo pushmill run", []),
        ])
    func shell(line: String, calls: [[String]]) { expect(ShellLine(line).calls(of: "pushmill"), is: calls) }

    @Test(
        "A command line with a mistake is refused", arguments: ["run", "demo --evnts 1", "aply", "replay --config f"])
    func refused(line: String) {
        #expect(throws: ProgramError.self) { try parse(line.split(separator: " ").map { String($0) }) }
    }

    /// Throws the program's error; runs nothing.
    private func parse(_ arguments: [String]) throws(ProgramError) {
        if arguments == ["--help"] || arguments == ["--version"] { return }
        guard let command = Program.commands.commands.first(where: { arguments.starts(with: $0.words) }) else {
            throw .usage("unknown command '\(arguments.joined(separator: " "))'")
        }
        _ = try ParsedArguments(arguments.dropFirst(command.words.count), for: command)
    }
}

extension DocumentTests.Document {
    struct Block {
        let language: String
        var lines: [String] = []

        var text: String { lines.joined(separator: "\n") + "\n" }

        /// The lines that a reader types, continued ones joined. In a block that also shows output, what follows a `$`.
        var commandLines: [String] {
            var found: [String] = []
            var goesOn = false
            for line in lines {
                let isTyped = language != "console" && !lines.contains { $0.hasPrefix("$ ") } || line.hasPrefix("$ ")
                guard isTyped || goesOn else { continue }
                let typed = line.hasPrefix("$ ") ? String(line.dropFirst(2)) : line
                if goesOn { found[found.count - 1] += " " + typed } else { found.append(typed) }
                goesOn = typed.hasSuffix("\\") || typed.hasSuffix("|")
                if typed.hasSuffix("\\") { found[found.count - 1].removeLast() }
            }
            return found
        }

        /// True if every unindented name is a section of a configuration.
        var isConfiguration: Bool {
            let sections = ["kafka", "topics", "delivery", "state", "stages", "process", "admin", "log"]
            let names = lines.filter { line in line.first.map { $0.isLetter || $0 == "-" } ?? false }
                .map { String($0.prefix { $0 != ":" }) }
            return !names.isEmpty && names.allSatisfy(sections.contains)
        }
    }

    func blocks(_ languages: [String]) -> [Block] { parts.blocks.filter { languages.contains($0.language) } }

    /// The texts in backticks outside code blocks, each on one line.
    var spans: [String] {
        parts.prose.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }
            .map { $0.element.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
    }

    private var parts: (blocks: [Block], prose: String) {
        var blocks: [Block] = []
        var open: Block?
        var prose = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                if let block = open { blocks.append(block) }
                open = open == nil ? Block(language: String(line.dropFirst(3))) : nil
            } else if open != nil {
                open?.lines.append(String(line))
            } else {
                prose += line + "\n"
            }
        }
        return (blocks, prose)
    }
}

/// As much of a shell's grammar as documents use.
struct ShellLine {
    private var words: [[String]] = [[]]

    init(_ line: String) {
        var word: String?
        var quote: Character?
        var isRedirected = false
        for character in line + ";" {
            if let open = quote {
                if character == open { quote = nil } else { word?.append(character) }
                continue
            }
            switch character {
            case "'", "\"":
                quote = character
                word = word ?? ""
            case " ", "|", ";", "&", "<", ">":
                // Leaves out a descriptor's number and the target of a redirection.
                if let word, !(character == ">" && word == "2"), !isRedirected { words[words.count - 1].append(word) }
                if word != nil { isRedirected = false }
                word = nil
                if character == "<" || character == ">" { isRedirected = true }
                if "|;&".contains(character), !isRedirected { words.append([]) }
            default: word = (word ?? "") + String(character)
            }
        }
    }

    /// The arguments of each call of a program, whatever folder it is in.
    func calls(of program: String) -> [[String]] {
        words.compactMap { words in
            let call = words.drop { word in
                ["do", "until", "while", "exec", "{"].contains(word)
                    || word.prefix { $0 != "=" }.allSatisfy(\.isUppercase)
            }
            guard let first = call.first, first == program || first.hasSuffix("/\(program)") else { return nil }
            return Array(call.dropFirst())
        }
    }
}
