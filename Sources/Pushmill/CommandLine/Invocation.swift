package import PushmillStages

/// One call of a command: what it was given, and what it may use.
package struct Invocation: Sendable {
    let values: [String: [String]]
    package let surroundings: Surroundings

    package func flag(_ option: Option) -> Bool { values[option.name] != nil }

    package func text(_ option: Option) -> String? { values[option.name]?.last }

    package func texts(_ option: Option) -> [String] { values[option.name] ?? [] }

    /// For an option or operand that is required.
    package func required(_ option: Option) throws(ProgramError) -> String {
        guard let text = text(option) else { throw .usage("\(option.label) is missing") }
        return text
    }

    /// The value as a number, a duration, a choice; nil where the option is not given.
    package func value<Value>(_ option: Option, _ format: SettingFormat<Value>) throws(ProgramError) -> Value? {
        try values(option, format).last
    }

    /// All values of what may be repeated.
    package func values<Value>(_ option: Option, _ format: SettingFormat<Value>) throws(ProgramError) -> [Value] {
        try texts(option).map { (text) throws(ProgramError) in try value(text, option, format) }
    }

    private func value<Value>(
        _ text: String, _ option: Option, _ format: SettingFormat<Value>
    ) throws(ProgramError) -> Value {
        do throws(SettingMismatch) {
            return try format.parse(text, "")
        } catch {
            throw .usage(
                "\(option.label): expected \(error.expected), found '\(text)'"
                    + Spelling.question(text, error.candidates))
        }
    }

    /// The configuration that `--config` names.
    package func configuration() throws(ProgramError) -> Configuration {
        try surroundings.configurationSource.read(file: required(.config))
    }
}

extension Option {
    package static let config = value("config", "FILE", "the configuration", isRequired: true)
}
