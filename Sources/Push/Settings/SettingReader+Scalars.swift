extension SettingReader {
    public mutating func value<Value>(
        _ key: String, _ format: SettingFormat<Value>, default standard: Value
    ) -> Value {
        let value = find(key).flatMap { parse($0, format, path(to: key)) } ?? standard
        show(key, .scalar(format.render(value)))
        return value
    }

    /// Nil where the key is missing or null.
    public mutating func optional<Value>(_ key: String, _ format: SettingFormat<Value>) -> Value? {
        let value = find(key).flatMap { parse($0, format, path(to: key)) }
        show(key, value.map { .scalar(format.render($0)) } ?? .null)
        return value
    }

    /// Nil only after a problem.
    public mutating func required<Value>(_ key: String, _ format: SettingFormat<Value>) -> Value? {
        guard let found = find(key) else {
            report(key, "is required")
            return nil
        }
        guard let value = parse(found, format, path(to: key)) else { return nil }
        show(key, .scalar(format.render(value)))
        return value
    }

    /// A list of scalars. One scalar alone is a list of one; in a variable, commas separate.
    public mutating func list<Value>(
        _ key: String, _ format: SettingFormat<Value>, default standard: [Value] = []
    ) -> [Value] {
        let values = find(key).map { parseList($0, format, path(to: key)) } ?? standard
        show(key, .list(values.map { Setting(place: place, value: .scalar(format.render($0))) }))
        return values
    }

    private mutating func parseList<Value>(
        _ found: Setting, _ format: SettingFormat<Value>, _ path: String
    ) -> [Value] {
        switch (found.value, found.place) {
        case (.list(let items), _):
            return items.enumerated().compactMap { parse($1, format, "\(path)[\($0)]") }
        case (.scalar(let text), .variable):
            return text.split(separator: ",").compactMap {
                let start = $0.drop { $0 == " " }
                let item = start.dropLast(start.reversed().prefix { $0 == " " }.count)
                return parse(Setting(place: found.place, value: .scalar(String(item))), format, path)
            }
        default:
            return parse(found, format, path).map { [$0] } ?? []
        }
    }

    mutating func parse<Value>(_ found: Setting, _ format: SettingFormat<Value>, _ path: String) -> Value? {
        var mismatch = SettingMismatch(expected: "one value")
        if case .scalar(let text) = found.value {
            do throws(SettingMismatch) {
                return try format.parse(text, folder)
            } catch {
                mismatch = error
            }
        }
        var message = "expected \(mismatch.expected)"
        if !format.isSecret { message += ", found \(found.summary)" }
        if case .scalar(let text) = found.value { message += Spelling.question(text, mismatch.candidates) }
        problems.append(SettingProblem(place: found.place, path: path, message: message))
        return nil
    }
}

extension Setting {
    /// A few words on what this is, for a problem's message.
    var summary: String {
        switch value {
        case .null: return "nothing"
        case .list: return "a list"
        case .map: return "a map"
        case .scalar(let text):
            let start = text.unicodeScalars.prefix(40).map { $0.value < 32 || $0.value == 127 ? "\u{FFFD}" : $0 }
            let rest = text.unicodeScalars.dropFirst(40).isEmpty ? "" : "…"
            return "\"\(String(String.UnicodeScalarView(start)))\(rest)\""
        }
    }
}
