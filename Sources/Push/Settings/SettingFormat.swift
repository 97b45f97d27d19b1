/// How a scalar is read and written: `.bool`, `.duration`, `.choice(Mode.self)`, or one of a stage's own.
public struct SettingFormat<Value: Sendable>: Sendable {
    let parse: @Sendable (_ text: String, _ folder: String) throws(SettingMismatch) -> Value
    let render: @Sendable (Value) -> String
    let isSecret: Bool

    /// `render` writes what `parse` reads.
    public init(
        parse: @escaping @Sendable (String) throws(SettingMismatch) -> Value,
        render: @escaping @Sendable (Value) -> String
    ) {
        self.init(isSecret: false, parse: { text, _ throws(SettingMismatch) in try parse(text) }, render: render)
    }

    /// `folder` is the one relative paths start at. The text of a secret is neither quoted in problems nor shown.
    init(
        isSecret: Bool,
        parse: @escaping @Sendable (String, String) throws(SettingMismatch) -> Value,
        render: @escaping @Sendable (Value) -> String
    ) {
        self.isSecret = isSecret
        self.parse = parse
        self.render = render
    }
}

/// Why a text is not a value of its format: "expected …, found …".
public struct SettingMismatch: Error {
    let expected: String
    let candidates: [String]

    /// `expected` is a noun with an example, such as "a duration such as 30s". The nearest of `candidates` is offered.
    public init(expected: String, candidates: [String] = []) {
        self.expected = expected
        self.candidates = candidates
    }
}
