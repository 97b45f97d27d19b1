import PushmillStages

struct Command: Sendable {
    typealias Run = @Sendable (Invocation) async throws -> ExitCode

    /// One word or two: `run`, `config check`.
    let name: String
    /// A line for the list of commands.
    let summary: String
    /// Further lines for the command's own help.
    var details = ""
    var options: [Option] = []
    let run: Run

    var words: [String] { name.split(separator: " ").map { String($0) } }
}

/// All commands. Finds the one that a command line names.
struct CommandTable {
    let commands: [Command]

    /// Runs the command that the arguments (without the program's name) name, and reports its errors.
    func run(_ arguments: [String], _ surroundings: Surroundings) async -> ExitCode {
        do {
            return try await dispatch(arguments, surroundings)
        } catch {
            let error = ProgramError(error)
            surroundings.console.error(error.description)
            if case .usage = error { surroundings.console.error(hint(arguments)) }
            return error.exitCode
        }
    }

    private func hint(_ arguments: [String]) -> String {
        guard let command = commands.first(where: { arguments.starts(with: $0.words) }) else {
            return "'pushmill --help' lists the commands."
        }
        return "'pushmill \(command.name) --help' shows its options."
    }

    private func dispatch(_ arguments: [String], _ surroundings: Surroundings) async throws -> ExitCode {
        guard let first = arguments.first else {
            surroundings.console.error(HelpText.overview(commands))
            return .usage
        }
        switch first {
        case "--version": return try await dispatch(["version"], surroundings)
        case "help": return try await dispatch(arguments.dropFirst() + ["--help"], surroundings)
        case "--help", "-h":
            surroundings.console.output(HelpText.overview(commands))
            return .success
        default: break
        }
        guard let command = commands.first(where: { arguments.starts(with: $0.words) }) else {
            return try helpForGroup(arguments, surroundings)
        }
        let parsed = try ParsedArguments(arguments.dropFirst(command.words.count), for: command)
        if parsed.wantsHelp {
            surroundings.console.output(HelpText.command(command))
            return .success
        }
        return try await command.run(Invocation(values: parsed.values, surroundings: surroundings))
    }

    /// `config --help` lists the commands that start with `config`; anything else that leads here is a mistake.
    private func helpForGroup(_ arguments: [String], _ surroundings: Surroundings) throws(ProgramError) -> ExitCode {
        let group = commands.filter { $0.words.count > 1 && $0.words[0] == arguments[0] }
        guard !group.isEmpty else {
            throw .usage(
                "unknown command '\(arguments[0])'" + Spelling.question(arguments[0], commands.map { $0.words[0] }))
        }
        let seconds = group.map { $0.words[1] }
        guard arguments.count > 1 else {
            throw .usage("'\(arguments[0])' needs one of: \(seconds.joined(separator: ", "))")
        }
        guard ["--help", "-h"].contains(arguments[1]) else {
            throw .usage(
                "unknown command '\(arguments[0]) \(arguments[1])'" + Spelling.question(arguments[1], seconds))
        }
        surroundings.console.output(HelpText.overview(group))
        return .success
    }
}

/// One call of a command, with its options and surroundings.
struct Invocation: Sendable {
    let values: [String: [String]]
    let surroundings: Surroundings

    var console: Console { surroundings.console }

    func flag(_ option: Option) -> Bool { values[option.name] != nil }

    func text(_ option: Option) -> String? { values[option.name]?.last }

    func texts(_ option: Option) -> [String] { values[option.name] ?? [] }

    /// For an option or operand that is required.
    func required(_ option: Option) throws(ProgramError) -> String {
        guard let text = text(option) else { throw .usage("\(option.label) is missing") }
        return text
    }

    /// The value as a number, a duration or a choice; nil if the option is not given.
    func value<Value>(_ option: Option, _ format: SettingFormat<Value>) throws(ProgramError) -> Value? {
        try values(option, format).last
    }

    /// All values of an option that may be repeated.
    func values<Value>(_ option: Option, _ format: SettingFormat<Value>) throws(ProgramError) -> [Value] {
        try texts(option).map { (text) throws(ProgramError) -> Value in
            do throws(SettingMismatch) {
                return try format.parse(text, "")
            } catch {
                throw .usage(
                    "\(option.label): expected \(error.expected), found '\(text)'"
                        + Spelling.question(text, error.candidates))
            }
        }
    }

    func configuration() throws(ProgramError) -> Configuration { try configuration(required(.config)) }

    func configuration(_ path: String) throws(ProgramError) -> Configuration {
        try ConfigurationSource(registry: surroundings.registry, environment: surroundings.environment).read(file: path)
    }
}

extension Option {
    static let config = value("config", "FILE", "the configuration", isRequired: true)
}

/// What the program provides to a command.
struct Surroundings: Sendable {
    let registry: StageRegistry
    let environment: [String: String]
    let console: Console
}
