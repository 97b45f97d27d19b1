/// Reads one map of settings. Missing settings get their defaults, and every problem is collected instead of stopping
/// at the first; a result is valid only if there were none.
public struct SettingReader {
    public internal(set) var problems: [SettingProblem] = []
    /// Settings that are allowed but probably not intended.
    public internal(set) var warnings: [SettingProblem] = []
    /// Where the map stands.
    public let place: Place
    /// The keys that lead to the map, such as `stages.decrypt`.
    public let path: String
    /// The folder where relative paths start.
    public let folder: String

    /// What the built-in contact stage has read, for its `ConfiguredStage`.
    var contactSource: ContactSource?
    var hasCoPartitionedContacts = false

    let members: [Setting.Member]
    /// The path as the name of an environment variable.
    let variable: String
    var asked: [String] = []
    var shown: [Setting.Member] = []
    public internal(set) var overrides: SettingOverrides

    public init(_ setting: Setting, folder: String, overrides: SettingOverrides = SettingOverrides()) {
        self.init(setting, path: "", variable: overrides.prefix, folder: folder, overrides: overrides)
    }

    init(_ setting: Setting, path: String, variable: String, folder: String, overrides: SettingOverrides) {
        self.place = setting.place
        self.path = path
        self.variable = variable
        self.folder = folder
        self.overrides = overrides
        switch setting.value {
        case .map(let members):
            self.members = members
        case .null:
            self.members = []
        case .scalar, .list:
            self.members = []
            // The text is not quoted: after a key whose colon lacks its space there may be a password.
            report("expected a map")
        }
    }

    /// What was read so far, in that order, with every default filled in and secrets hidden.
    public var effective: Setting { Setting(place: place, value: .map(shown)) }

    /// Adds a problem with the map as a whole.
    public mutating func report(_ message: String) { report(message, at: place, path) }

    /// Adds a problem with a key; if the key is missing, the problem is placed at the map.
    public mutating func report(_ key: String, _ message: String) { report(at: [key], message) }

    /// Adds a problem with a key of a nested map; if keys are missing, it is placed at the innermost map that exists.
    public mutating func report(at keys: [String], _ message: String) { problems.append(problem(at: keys, message)) }

    /// Adds a warning about a key; warnings do not prevent a start.
    public mutating func warn(_ key: String, _ message: String) { warnings.append(problem(at: [key], message)) }

    private mutating func problem(at keys: [String], _ message: String) -> SettingProblem {
        var found = Setting(place: place, value: .map(members))
        for key in keys {
            guard case .map(let members) = found.value, let next = members.first(where: { $0.key == key }) else {
                break
            }
            found = next.value
        }
        let key = keys.joined(separator: ".")
        let override = overrides.setting(variable(for: key))
        return SettingProblem(place: (override ?? found).place, path: path(to: key), message: message)
    }

    /// Reports a key that was renamed, if it is used.
    public mutating func renamed(_ key: String, to name: String) {
        if find(key) != nil { report(key, "renamed to `\(name)`") }
    }

    /// Adds a problem whose place is known.
    public mutating func report(_ problem: SettingProblem) { problems.append(problem) }

    private mutating func report(_ message: String, at place: Place, _ path: String) {
        report(SettingProblem(place: place, path: path, message: message))
    }

    /// Reports the keys that were not asked for. Called once, by the code that made the reader.
    public mutating func finish() {
        for member in members where !asked.contains(member.key) {
            report("unknown key" + Spelling.question(member.key, asked), at: member.place, path(to: member.key))
        }
    }

    /// Accepts the keys that were not asked for: nothing is known about them.
    mutating func ignoreRest() { asked += members.map(\.key) }

    func path(to key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    func variable(for key: String) -> String { "\(variable)_\(SettingOverrides.variableName(key))" }

    /// The variable's value, else the file's; nil if missing or null.
    mutating func find(_ key: String) -> Setting? {
        let written = ask(key)
        let found = overrides.setting(variable(for: key)) ?? written
        if case .null? = found?.value { return nil }
        return found
    }

    /// The file's value.
    private mutating func ask(_ key: String) -> Setting? {
        if !asked.contains(key) { asked.append(key) }
        return members.first { $0.key == key }?.value
    }

    mutating func show(_ key: String, _ value: Setting.Content) {
        shown.append(Setting.Member(key: key, place: place, value: Setting(place: place, value: value)))
    }
}

extension SettingReader {
    public mutating func value<Value>(
        _ key: String, _ format: SettingFormat<Value>, default standard: Value
    ) -> Value {
        let value = find(key).flatMap { parse($0, format, path(to: key)) } ?? standard
        show(key, .scalar(format.render(value)))
        return value
    }

    /// Nil if the key is missing or null, or after a problem.
    public mutating func optional<Value>(_ key: String, _ format: SettingFormat<Value>) -> Value? {
        let value = find(key).flatMap { parse($0, format, path(to: key)) }
        show(key, value.map { .scalar(format.render($0)) } ?? .null)
        return value
    }

    /// Nil only after a problem.
    public mutating func required<Value>(_ key: String, _ format: SettingFormat<Value>) -> Value? {
        let value = optional(key, format)
        if value == nil, find(key) == nil { report(key, "is required") }
        return value
    }

    /// A list of scalars. A single scalar is a list of one; in a variable, commas separate the items.
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
        if !format.isSecret, !mismatch.isSecret { message += ", found \(found.summary)" }
        if case .scalar(let text) = found.value { message += Spelling.question(text, mismatch.candidates) }
        report(message, at: found.place, path)
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
        case .scalar(var text):
            // The part before a URL's host may be a password, also where the scheme is missing.
            let start = text.firstRange(of: "://")?.upperBound ?? text.startIndex
            if let end = text[start...].lastIndex(of: "@"), start > text.startIndex || text[..<end].contains(":") {
                text.replaceSubrange(start..<end, with: "…")
            }
            let shown = text.unicodeScalars.prefix(40).map { $0.value < 32 || $0.value == 127 ? "\u{FFFD}" : $0 }
            let rest = text.unicodeScalars.dropFirst(40).isEmpty ? "" : "…"
            return "\"\(String(String.UnicodeScalarView(shown)))\(rest)\""
        }
    }
}

extension SettingReader {
    /// Reads a nested map; a missing one is read as an empty one.
    public mutating func map<Value>(_ key: String, _ read: (inout SettingReader) -> Value) -> Value {
        let found = ask(key) ?? Setting(place: place, value: .null)
        let (value, effective) = descend(found, path: path(to: key), variable: variable(for: key), read)
        show(key, effective.value)
        return value
    }

    /// Reads a list of maps. If the key is missing, `implied` empty maps are read for their defaults.
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

    /// Reads a list of items with names: `- badge`, or `- badge: {…}`. Paths and variables have the name instead of a
    /// number: `stages.badge.mode`.
    public mutating func namedMaps<Value>(
        _ key: String, _ read: (_ name: String, inout SettingReader) -> Value
    ) -> [Value] {
        var all: [Setting] = []
        var values: [Value] = []
        for (index, item) in items(key, orElse: []).enumerated() {
            guard let (name, setting) = named(item) else {
                let message = "expected a name, or a name with its settings, found \(item.summary)"
                report(message, at: item.place, "\(path(to: key))[\(index)]")
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
        guard let found = ask(key) else { return absent }
        switch found.value {
        case .list(let items): return items
        case .null: return absent
        case .scalar, .map:
            report("expected a list, found \(found.summary)", at: found.place, path(to: key))
            return []
        }
    }

    private func named(_ item: Setting) -> (String, Setting)? {
        switch item.value {
        case .scalar(let name): (name, Setting(place: item.place, value: .null))
        case .map(let members) where members.count == 1:
            // Problems point to the name, including those about settings missing inside.
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
