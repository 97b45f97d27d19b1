extension SettingReader {
    /// A map of its own keys; a missing one is read as an empty one.
    public mutating func map<Value>(_ key: String, _ read: (inout SettingReader) -> Value) -> Value {
        asked.append(key)
        let found = members.first { $0.key == key }?.value ?? Setting(place: place, value: .null)
        let (value, effective) = descend(found, path: path(to: key), variable: variable(for: key), read)
        show(key, effective.value)
        return value
    }

    /// A list of maps. Where the key is missing, `implied` empty ones are read, for their defaults.
    public mutating func maps<Value>(
        _ key: String, implied: Int = 0, _ read: (inout SettingReader) -> Value
    ) -> [Value] {
        let absent = [Setting](repeating: Setting(place: place, value: .null), count: implied)
        var all: [Setting] = []
        let values = items(key, orElse: absent).enumerated().map { index, item in
            let (value, effective) = descend(
                item, path: "\(path(to: key))[\(index)]", variable: "\(variable(for: key))_\(index)", read)
            all.append(effective)
            return value
        }
        show(key, .list(all))
        return values
    }

    /// A list whose items have a name each: `- badge`, or `- badge: {…}`. Their settings are known by that name and not
    /// by a number: `stages.badge.mode`.
    public mutating func namedMaps<Value>(
        _ key: String, _ read: (_ name: String, inout SettingReader) -> Value
    ) -> [Value] {
        var all: [Setting] = []
        var values: [Value] = []
        for (index, item) in items(key, orElse: []).enumerated() {
            guard let (name, setting) = named(item) else {
                let message = "expected a name, or a name with its settings, found \(item.summary)"
                problems.append(
                    SettingProblem(place: item.place, path: "\(path(to: key))[\(index)]", message: message))
                continue
            }
            let (value, effective) = descend(
                setting, path: "\(path(to: key)).\(name)",
                variable: "\(variable(for: key))_\(SettingOverrides.variableName(name))"
            ) { read(name, &$0) }
            values.append(value)
            let member = Setting.Member(key: name, place: item.place, value: effective)
            all.append(Setting(place: item.place, value: .map([member])))
        }
        show(key, .list(all))
        return values
    }

    private mutating func items(_ key: String, orElse absent: [Setting]) -> [Setting] {
        asked.append(key)
        guard let found = members.first(where: { $0.key == key })?.value else { return absent }
        switch found.value {
        case .list(let items): return items
        case .null: return absent
        case .scalar, .map:
            let message = "expected a list, found \(found.summary)"
            problems.append(SettingProblem(place: found.place, path: path(to: key), message: message))
            return []
        }
    }

    private func named(_ item: Setting) -> (String, Setting)? {
        switch item.value {
        case .scalar(let name): (name, Setting(place: item.place, value: .null))
        case .map(let members) where members.count == 1:
            // The name's place is where a reader of problems looks, also for what is missing inside.
            (members[0].key, Setting(place: members[0].place, value: members[0].value.value))
        default: nil
        }
    }

    private mutating func descend<Value>(
        _ setting: Setting, path: String, variable: String, _ read: (inout SettingReader) -> Value
    ) -> (Value, Setting) {
        var reader = SettingReader(setting, path: path, variable: variable, folder: folder, overrides: overrides)
        let value = read(&reader)
        reader.finish()
        problems += reader.problems
        warnings += reader.warnings
        overrides = reader.overrides
        return (value, reader.effective)
    }
}
