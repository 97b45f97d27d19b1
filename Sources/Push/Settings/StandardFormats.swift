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
            parse: { text throws(SettingMismatch) in
                let isLegal = text.unicodeScalars.allSatisfy {
                    $0.isASCII
                        && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || "._-".contains(Character($0)))
                }
                guard isLegal, (1...249).contains(text.utf8.count), text != ".", text != ".." else {
                    throw SettingMismatch(expected: "a topic's name (letters, digits, '.', '_' and '-', at most 249)")
                }
                return text
            }, render: { $0 })
    }
}

extension SettingFormat where Value == Secret {
    public static var secret: Self {
        Self(parse: { text throws(SettingMismatch) in Secret(text) }, render: \.revealed).hidden
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
