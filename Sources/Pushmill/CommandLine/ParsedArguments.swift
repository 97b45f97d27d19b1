import PushmillStages

/// The arguments of a command, by its options.
struct ParsedArguments {
    private(set) var values: [String: [String]] = [:]
    private(set) var wantsHelp = false

    init(_ arguments: some Sequence<String>, for command: Command) throws(ProgramError) {
        var operands = command.options.filter(\.isOperand)[...]
        var rest = Array(arguments)[...]
        var onlyOperands = false
        while let argument = rest.popFirst() {
            if argument == "--", !onlyOperands {
                onlyOperands = true
            } else if argument.hasPrefix("-"), argument != "-", !onlyOperands {
                try readOption(argument, &rest, command)
            } else if let operand = operands.first {
                values[operand.name, default: []].append(argument)
                if operand.kind == .operand { operands.removeFirst() }
            } else {
                throw .usage("unexpected argument '\(argument)' for '\(command.name)'")
            }
        }
        guard !wantsHelp else { return }
        for option in command.options where option.isRequired && values[option.name] == nil {
            throw .usage("'\(command.name)' needs \(option.label)")
        }
    }

    private mutating func readOption(
        _ argument: String, _ rest: inout ArraySlice<String>, _ command: Command
    ) throws(ProgramError) {
        let (typed, attached) = Self.split(argument)
        if typed == "--help" || typed == "-h" {
            wantsHelp = true
            return
        }
        let option = command.options.first { !$0.isOperand && "--\($0.name)" == typed }
        guard let option else {
            let known = command.options.filter { !$0.isOperand }.map { "--\($0.name)" }
            throw .usage("'\(command.name)' has no option \(typed)" + Spelling.question(typed, known + ["--help"]))
        }
        guard option.kind != .flag else {
            if attached != nil { throw .usage("\(typed) takes no value") }
            values[option.name] = []
            return
        }
        if option.kind == .value, values[option.name] != nil { throw .usage("\(typed) is given twice") }
        guard let value = attached ?? Self.value(&rest) else { throw .usage("\(option.label): the value is missing") }
        values[option.name, default: []].append(value)
    }

    /// Splits `--name=value`.
    private static func split(_ argument: String) -> (name: String, value: String?) {
        guard let equals = argument.unicodeScalars.firstIndex(of: "=") else { return (argument, nil) }
        // On scalars, because a value may begin with a combining mark, which forms one character with the `=`.
        return (String(argument[..<equals]), String(argument[argument.unicodeScalars.index(after: equals)...]))
    }

    /// The next argument, unless it is an option; a value that looks like one must be attached with `=`.
    private static func value(_ rest: inout ArraySlice<String>) -> String? {
        rest.first?.hasPrefix("--") == true ? nil : rest.popFirst()
    }
}

/// An argument of a command: `--name`, `--name VALUE`, or an operand by position.
struct Option: Sendable {
    enum Kind { case flag, value, repeated, operand, operands }

    let name: String
    let kind: Kind
    /// The value's name in a help text.
    var placeholder = ""
    var isRequired = false
    let help: String

    static func flag(_ name: String, _ help: String) -> Option { Option(name: name, kind: .flag, help: help) }

    static func value(_ name: String, _ placeholder: String, _ help: String, isRequired: Bool = false) -> Option {
        Option(name: name, kind: .value, placeholder: placeholder, isRequired: isRequired, help: help)
    }

    static func repeated(_ name: String, _ placeholder: String, _ help: String) -> Option {
        Option(name: name, kind: .repeated, placeholder: placeholder, help: help)
    }

    /// `name` is the operand's name in the help text, such as `FILE`.
    static func operand(_ name: String, _ help: String, isRequired: Bool = true) -> Option {
        Option(name: name, kind: .operand, placeholder: name, isRequired: isRequired, help: help)
    }

    /// Any number of operands; nothing can follow them.
    static func operands(_ name: String, _ help: String) -> Option {
        Option(name: name, kind: .operands, placeholder: "\(name)...", help: help)
    }

    /// True for an argument by position, without `--`.
    var isOperand: Bool { kind == .operand || kind == .operands }

    /// As it is typed.
    var label: String {
        switch kind {
        case .flag: "--\(name)"
        case .value, .repeated: "--\(name) \(placeholder)"
        case .operand, .operands: placeholder
        }
    }
}
