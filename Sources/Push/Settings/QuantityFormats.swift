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
