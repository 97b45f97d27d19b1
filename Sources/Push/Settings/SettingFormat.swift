/// How a scalar is read and written: `.bool`, `.duration`, `.choice(Mode.self)`, or one of a stage's own.
public struct SettingFormat<Value: Sendable>: Sendable {
    package let parse: @Sendable (_ text: String, _ folder: String) throws(SettingMismatch) -> Value
    let render: @Sendable (Value) -> String
    let isSecret: Bool

    /// `render` writes what `parse` reads.
    public init(
        parse: @escaping @Sendable (String) throws(SettingMismatch) -> Value,
        render: @escaping @Sendable (Value) -> String
    ) {
        self.init(isSecret: false, parse: { text, _ throws(SettingMismatch) in try parse(text) }, render: render)
    }

    /// `folder` is the one at which relative paths start.
    init(
        isSecret: Bool,
        parse: @escaping @Sendable (String, String) throws(SettingMismatch) -> Value,
        render: @escaping @Sendable (Value) -> String
    ) {
        self.isSecret = isSecret
        self.parse = parse
        self.render = render
    }

    /// The same for a secret: problems do not quote it, and it is not shown.
    public var hidden: Self { Self(isSecret: true, parse: parse, render: { _ in Secret.hidden }) }
}

/// Why a text is not a value of its format: "expected …, found …".
public struct SettingMismatch: Error {
    package let expected: String
    package let candidates: [String]

    /// `expected` is a noun with an example, such as "a duration such as 30s". The nearest of `candidates` is offered.
    public init(expected: String, candidates: [String] = []) {
        self.expected = expected
        self.candidates = candidates
    }
}
