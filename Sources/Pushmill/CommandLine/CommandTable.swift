import PushmillStages

/// All commands, and the way from a command line to one of them.
struct CommandTable {
    let commands: [Command]

    /// Runs what the arguments (without the program's name) ask for, and tells what went wrong.
    func run(_ arguments: [String], _ surroundings: Surroundings) async -> ExitCode {
        do throws(ProgramError) {
            return try await dispatch(arguments, surroundings)
        } catch {
            surroundings.console.error(error.description)
            if case .usage = error { surroundings.console.error("'pushmill --help' lists what there is.") }
            return error.exitCode
        }
    }

    private func dispatch(_ arguments: [String], _ surroundings: Surroundings) async throws(ProgramError) -> ExitCode {
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
            throw .usage("no command '\(arguments[0])'" + Spelling.question(arguments[0], commands.map { $0.words[0] }))
        }
        let seconds = group.map { $0.words[1] }
        guard arguments.count > 1 else {
            throw .usage("'\(arguments[0])' needs one of: \(seconds.joined(separator: ", "))")
        }
        guard ["--help", "-h"].contains(arguments[1]) else {
            throw .usage(
                "no command '\(arguments[0]) \(arguments[1])'" + Spelling.question(arguments[1], seconds))
        }
        surroundings.console.output(HelpText.overview(group))
        return .success
    }
}
