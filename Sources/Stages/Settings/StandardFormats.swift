public import PushmillPayload

extension SettingFormat where Value == String {
    /// Any text.
    public static var text: Self { Self(parse: { text throws(SettingMismatch) in text }, render: { $0 }) }

    /// Any text but the empty one.
    public static var name: Self {
        Self(expected: "some text", { $0.isEmpty ? nil : $0 }, render: { $0 })
    }

    /// A file or folder; a relative path starts at the folder of the configuration.
    public static var file: Self { file(besides: []) }

    /// A file, or one of some words that are none.
    public static func file(besides words: [String]) -> Self {
        Self(
            isSecret: false,
            parse: { path, folder throws(SettingMismatch) in
                guard !path.isEmpty else { throw SettingMismatch(expected: "a path") }
                if path.hasPrefix("/") || folder.isEmpty || words.contains(path) { return path }
                return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
            }, render: { $0 })
    }
}

extension SettingFormat where Value == String {
    /// A topic's name as Kafka allows it.
    package static var topic: Self {
        Self(
            expected: "a topic's name (letters, digits, '.', '_' and '-', at most 249)",
            { text in
                let isLegal = text.unicodeScalars.allSatisfy {
                    $0.isASCII
                        && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || "._-".contains(Character($0)))
                }
                return isLegal && (1...249).contains(text.utf8.count) && text != "." && text != ".." ? text : nil
            }, render: { $0 })
    }
}

extension SettingFormat where Value == Bool {
    public static var bool: Self {
        Self(expected: "true or false", { Bool($0) }, render: \.description)
    }
}

extension SettingFormat where Value == Int {
    public static func integer(_ range: ClosedRange<Int>) -> Self {
        Self(
            expected: "an integer from \(range.lowerBound) to \(range.upperBound)",
            { text in Int(text).flatMap { range.contains($0) ? $0 : nil } }, render: \.description)
    }
}

extension SettingFormat {
    /// One of these values, by its name.
    public static func choice(_ values: [Value], name: @escaping @Sendable (Value) -> String) -> Self {
        Self(
            parse: { text throws(SettingMismatch) in
                let names = values.map(name)
                if let index = names.firstIndex(of: text) { return values[index] }
                let list = names.dropLast().joined(separator: ", ")
                let expected = list.isEmpty ? names.joined() : "\(list) or \(names[names.count - 1])"
                throw SettingMismatch(expected: expected, candidates: names)
            }, render: name)
    }
}

extension SettingFormat where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    public static func choice(_ type: Value.Type) -> Self { choice(Array(Value.allCases), name: \.rawValue) }
}

extension SettingFormat where Value == Duration {
    /// `200ms`, `30s`, `5m`, `1h`: whole numbers with a unit, whole milliseconds.
    public static func duration(_ range: ClosedRange<Duration>) -> Self {
        Self(
            parse: { text throws(SettingMismatch) in
                let units = durationUnits.map { ($0.name, $0.milliseconds) }
                guard let milliseconds = quantity(text, units), range.contains(.milliseconds(milliseconds)) else {
                    throw SettingMismatch(
                        expected: "a duration such as 200ms, 30s or 5m, from \(rendered(range.lowerBound)) to "
                            + rendered(range.upperBound))
                }
                return .milliseconds(milliseconds)
            }, render: rendered)
    }

    private static func rendered(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        let unit = durationUnits.last { milliseconds % $0.milliseconds == 0 && milliseconds >= $0.milliseconds }
        guard let unit else { return "\(milliseconds)ms" }
        return "\(milliseconds / unit.milliseconds)\(unit.name)"
    }
}

extension SettingFormat where Value == Int {
    /// `64MiB`, `10MB`, `512`: whole numbers of bytes, with or without a unit.
    public static func byteSize(_ range: ClosedRange<Int>) -> Self {
        Self(
            parse: { text throws(SettingMismatch) in
                let units = [("", 1)] + sizeUnits.map { ($0.name, $0.bytes) }
                guard let bytes = quantity(text, units), range.contains(bytes) else {
                    throw SettingMismatch(
                        expected: "a size such as 64MiB or 10MB, from \(rendered(range.lowerBound)) to "
                            + rendered(range.upperBound))
                }
                return bytes
            }, render: rendered)
    }

    private static func rendered(_ bytes: Int) -> String {
        let unit = sizeUnits.filter { $0.bytes > 1 && bytes >= $0.bytes && bytes % $0.bytes == 0 }.max {
            $0.bytes < $1.bytes
        }
        guard let unit else { return "\(bytes)" }
        return "\(bytes / unit.bytes)\(unit.name)"
    }
}

private let durationUnits: [(name: String, milliseconds: Int64)] = [
    ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000),
]

private let sizeUnits: [(name: String, bytes: Int)] = [
    ("B", 1), ("kB", 1000), ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000),
    ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30),
]

/// A whole number times its unit; nil for anything else, what overflows included.
private func quantity<Number: FixedWidthInteger>(_ text: String, _ units: [(name: String, factor: Number)]) -> Number? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let name = text.dropFirst(digits.count)
    guard let count = Number(digits), let unit = units.first(where: { $0.name == name }) else { return nil }
    let (product, overflow) = count.multipliedReportingOverflow(by: unit.factor)
    return overflow ? nil : product
}

extension SettingFormat where Value == JSONPointer {
    public static var pointer: Self {
        // The whole document is no member of one.
        Self(
            expected: "a JSON Pointer such as /aps/alert/body", { $0.isEmpty ? nil : JSONPointer($0) },
            render: \.description)
    }
}

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
    public var hidden: Self { Self(isSecret: true, parse: parse, render: { _ in "(hidden)" }) }
}

extension SettingFormat {
    /// Of what is made of a text, or nil of one that does not say any.
    package init(
        expected: String, candidates: [String] = [], _ make: @escaping @Sendable (String) -> Value?,
        render: @escaping @Sendable (Value) -> String
    ) {
        self.init(
            parse: { text throws(SettingMismatch) in
                guard let value = make(text) else {
                    throw SettingMismatch(expected: expected, candidates: candidates)
                }
                return value
            }, render: render)
    }
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
