import PushmillPayload

/// Help made from the tables of commands and options.
enum HelpText {
    static func overview(_ commands: [Command]) -> String {
        """
        Usage: pushmill <command> [options]

        Commands:
        \(table(commands.map { ($0.name, $0.summary) }))

        'pushmill <command> --help' describes a command.
        """
    }

    static func command(_ command: Command) -> String {
        let operands = command.options.filter(\.isOperand)
        let named = command.options.filter { !$0.isOperand }
        var usage = ["pushmill", command.name] + named.filter(\.isRequired).map(\.label)
        if !named.allSatisfy(\.isRequired) { usage.append("[options]") }
        usage += operands.map { $0.isRequired ? $0.label : "[\($0.label)]" }
        let rows = (operands + named).map { ($0.label, help($0)) } + [("--help", "shows this help")]
        let details = command.details.isEmpty ? "" : "\n\(command.details)\n"
        return """
            Usage: \(usage.joined(separator: " "))

            \(command.summary)
            \(details)
            Options:
            \(table(rows))
            """
    }

    private static func help(_ option: Option) -> String {
        switch option.kind {
        case .repeated: "\(option.help) (may be repeated)"
        case .value where option.isRequired: "\(option.help) (required)"
        default: option.help
        }
    }

    /// Two columns, the second one wrapped.
    private static func table(_ rows: [(left: String, right: String)]) -> String {
        let width = rows.map(\.left.count).max() ?? 0
        let indent = "".padded(to: width + 4)
        return rows.map { left, right in
            "  \(left.padded(to: width))  " + wrapped(right, 80 - width - 4).joined(separator: "\n\(indent)")
        }.joined(separator: "\n")
    }

    private static func wrapped(_ text: String, _ width: Int) -> [String] {
        var lines = [""]
        for word in text.split(separator: " ") {
            let line = lines[lines.count - 1]
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(String(word))
            } else {
                lines[lines.count - 1] = line.isEmpty ? String(word) : "\(line) \(word)"
            }
        }
        return lines
    }
}
