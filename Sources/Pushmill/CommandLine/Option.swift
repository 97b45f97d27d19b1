/// What may follow a command's name: `--name`, `--name VALUE`, or an operand by its place.
package struct Option: Sendable {
    enum Kind { case flag, value, repeated, operand, operands }

    let name: String
    let kind: Kind
    /// What stands for the value in a help text.
    let placeholder: String
    let isRequired: Bool
    let help: String

    package static func flag(_ name: String, _ help: String) -> Option {
        Option(name: name, kind: .flag, placeholder: "", isRequired: false, help: help)
    }

    package static func value(
        _ name: String, _ placeholder: String, _ help: String, isRequired: Bool = false
    ) -> Option {
        Option(name: name, kind: .value, placeholder: placeholder, isRequired: isRequired, help: help)
    }

    /// May be given more than once.
    package static func repeated(_ name: String, _ placeholder: String, _ help: String) -> Option {
        Option(name: name, kind: .repeated, placeholder: placeholder, isRequired: false, help: help)
    }

    /// `name` is how the help text calls it, such as `FILE`.
    package static func operand(_ name: String, _ help: String, isRequired: Bool = true) -> Option {
        Option(name: name, kind: .operand, placeholder: name, isRequired: isRequired, help: help)
    }

    /// As many as there are; nothing can follow them.
    package static func operands(_ name: String, _ help: String) -> Option {
        Option(name: name, kind: .operands, placeholder: "\(name)...", isRequired: false, help: help)
    }

    /// True for what has its place and no `--`.
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
