public import PushmillPayload

extension SettingFormat where Value == String {
    /// Any text.
    public static var text: Self { Self(parse: { text throws(SettingMismatch) in text }, render: { $0 }) }

    /// Any text but the empty one.
    public static var name: Self { Self(expected: "some text") { $0.isEmpty ? nil : $0 } }

    /// A file or folder; a relative path starts at the folder of the configuration.
    public static var file: Self { file(besides: []) }

    /// A file, or one of the words, which are not paths.
    public static func file(besides words: [String]) -> Self {
        Self(
            parse: { path, folder throws(SettingMismatch) in
                guard !path.isEmpty else { throw SettingMismatch(expected: "a path") }
                // A key or key set in place of a path must not be shown as a path.
                guard path.first(where: { !$0.isWhitespace }) != "{", !path.utf8.contains(UInt8(ascii: "\n")) else {
                    throw SettingMismatch(expected: "the path of a file, not its contents", isSecret: true)
                }
                if path.hasPrefix("/") || folder.isEmpty || words.contains(path) { return path }
                return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
            }, render: { $0 }, isSecret: false)
    }

    /// A topic's name as Kafka allows it.
    package static var topic: Self {
        Self(expected: "a topic's name (letters, digits, '.', '_' and '-', at most 249)") { text in
            let isLegal = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
            return isLegal && (1...249).contains(text.utf8.count) && text != "." && text != ".." ? text : nil
        }
    }
}

extension SettingFormat where Value == Bool {
    public static var bool: Self { Self(expected: "true or false") { Bool($0) } }
}

extension SettingFormat where Value == Int {
    public static func integer(_ range: ClosedRange<Int>) -> Self {
        Self(expected: "an integer from \(range.lowerBound) to \(range.upperBound)") { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// `64MiB`, `10MB`, `512`: whole numbers of bytes, with or without a unit.
    public static func byteSize(_ range: ClosedRange<Int>) -> Self {
        Self(
            expected: "a size such as 64MiB or 10MB, from \(written(range.lowerBound, sizeUnits)) to "
                + written(range.upperBound, sizeUnits),
            { text in quantity(text, sizeUnits).flatMap { range.contains($0) ? $0 : nil } },
            render: { written($0, sizeUnits) })
    }
}

extension SettingFormat {
    /// One of these values, by its name.
    public static func choice(_ values: [Value], name: @escaping @Sendable (Value) -> String) -> Self {
        let names = values.map(name)
        let list = names.dropLast().joined(separator: ", ")
        let expected = list.isEmpty ? names.joined() : "\(list) or \(names[names.count - 1])"
        return Self(
            expected: expected, candidates: names, { text in names.firstIndex(of: text).map { values[$0] } },
            render: name)
    }
}

extension SettingFormat where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    public static func choice(_ type: Value.Type) -> Self { choice(Array(Value.allCases), name: \.rawValue) }
}

extension SettingFormat where Value == Duration {
    /// `200ms`, `30s`, `5m`, `1h`: whole numbers with a unit, whole milliseconds.
    public static func duration(_ range: ClosedRange<Duration>) -> Self {
        Self(
            expected: "a duration such as 200ms, 30s or 5m, from \(rendered(range.lowerBound)) to "
                + rendered(range.upperBound),
            { text in
                let duration = quantity(text, durationUnits).map { Duration.milliseconds($0) }
                return duration.flatMap { range.contains($0) ? $0 : nil }
            }, render: rendered)
    }

    private static func rendered(_ duration: Duration) -> String {
        written(Int(clamping: duration.attoseconds / 1_000_000_000_000_000), durationUnits)
    }
}

/// Among units of the same size, the first is written.
private typealias Units = [(name: String, factor: Int)]

private let durationUnits: Units = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)]

private let sizeUnits: Units = [
    ("", 1), ("B", 1), ("kB", 1000), ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000),
    ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30),
]

/// A whole number times its unit; nil for anything else and on overflow.
private func quantity(_ text: String, _ units: Units) -> Int? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let name = text.dropFirst(digits.count)
    guard let count = Int(digits), let unit = units.first(where: { $0.name == name }) else { return nil }
    let (product, overflow) = count.multipliedReportingOverflow(by: unit.factor)
    return overflow ? nil : product
}

/// Writes the number in the largest unit that divides it.
private func written(_ number: Int, _ units: Units) -> String {
    let fitting = units.filter { number >= $0.factor && number % $0.factor == 0 }
    let unit = fitting.max { $0.factor < $1.factor } ?? units[0]
    return "\(number / unit.factor)\(unit.name)"
}

extension SettingFormat where Value == JSONPointer {
    public static var pointer: Self {
        // An empty pointer is the whole document, not a member.
        Self(expected: "a JSON Pointer such as /aps/alert/body") { $0.isEmpty ? nil : JSONPointer($0) }
    }
}

/// How a scalar is read and written: `.bool`, `.duration`, `.choice(Mode.self)`, or one of a stage's own.
public struct SettingFormat<Value: Sendable>: Sendable {
    /// `folder` is where relative paths start.
    package let parse: @Sendable (_ text: String, _ folder: String) throws(SettingMismatch) -> Value
    let render: @Sendable (Value) -> String
    let isSecret: Bool

    /// The same for a secret: problems do not quote it, and it is not shown.
    public var hidden: Self { Self(parse: parse, render: { _ in "(hidden)" }, isSecret: true) }
}

extension SettingFormat {
    /// `render` writes what `parse` reads.
    public init(
        parse: @escaping @Sendable (String) throws(SettingMismatch) -> Value,
        render: @escaping @Sendable (Value) -> String
    ) {
        self.init(parse: { text, _ throws(SettingMismatch) in try parse(text) }, render: render, isSecret: false)
    }

    /// A format whose `make` returns nil for a text that is not one of its values.
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

extension SettingFormat where Value: CustomStringConvertible {
    /// A format whose values are written as their `description`.
    package init(expected: String, candidates: [String] = [], _ make: @escaping @Sendable (String) -> Value?) {
        self.init(expected: expected, candidates: candidates, make, render: \.description)
    }
}

/// Why a text is not a value of its format: "expected …, found …".
public struct SettingMismatch: Error {
    package let expected: String
    package let candidates: [String]
    let isSecret: Bool

    /// `expected` is a noun with an example, such as "a duration such as 30s". The nearest of `candidates` is
    /// suggested. With `isSecret`, problems do not quote the text.
    public init(expected: String, candidates: [String] = [], isSecret: Bool = false) {
        self.expected = expected
        self.candidates = candidates
        self.isSecret = isSecret
    }
}
