extension SettingFormat where Value == String {
    /// Any text.
    public static var text: Self { Self(parse: { text throws(SettingMismatch) in text }, render: { $0 }) }

    /// Any text but the empty one.
    public static var name: Self {
        Self(
            parse: { text throws(SettingMismatch) in
                guard !text.isEmpty else { throw SettingMismatch(expected: "some text") }
                return text
            }, render: { $0 })
    }

    /// A file or folder; a relative path starts at the folder of the configuration.
    public static var file: Self {
        Self(
            isSecret: false,
            parse: { path, folder throws(SettingMismatch) in
                guard !path.isEmpty else { throw SettingMismatch(expected: "a path") }
                if path.hasPrefix("/") || folder.isEmpty { return path }
                return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
            }, render: { $0 })
    }
}

extension SettingFormat where Value == Secret {
    public static var secret: Self {
        Self(
            isSecret: true, parse: { text, _ throws(SettingMismatch) in Secret(text) },
            render: { _ in Secret.hidden })
    }
}

extension SettingFormat where Value == Bool {
    public static var bool: Self {
        Self(
            parse: { text throws(SettingMismatch) in
                switch text {
                case "true": return true
                case "false": return false
                default: throw SettingMismatch(expected: "true or false")
                }
            }, render: { $0 ? "true" : "false" })
    }
}

extension SettingFormat where Value == Int {
    public static func integer(_ range: ClosedRange<Int>) -> Self {
        Self(
            parse: { text throws(SettingMismatch) in
                guard let number = Int(text), range.contains(number) else {
                    throw SettingMismatch(expected: "an integer from \(range.lowerBound) to \(range.upperBound)")
                }
                return number
            }, render: { String($0) })
    }
}

extension SettingFormat where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    public static func choice(_ type: Value.Type) -> Self {
        Self(
            parse: { text throws(SettingMismatch) in
                if let value = Value(rawValue: text) { return value }
                let words = Value.allCases.map(\.rawValue)
                let list = words.dropLast().joined(separator: ", ")
                let last = words.last ?? ""
                throw SettingMismatch(expected: list.isEmpty ? last : "\(list) or \(last)", candidates: words)
            }, render: { $0.rawValue })
    }
}
