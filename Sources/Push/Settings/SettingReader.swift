/// Reads one map of settings. It answers with defaults where something is missing, and collects every problem instead of
/// stopping at the first; a result counts only if there were none.
public struct SettingReader {
    public internal(set) var problems: [SettingProblem] = []
    /// What is allowed, and hardly what is wanted.
    public internal(set) var warnings: [SettingProblem] = []
    /// Where the map stands.
    public let place: Place
    /// The keys that lead to the map, such as `stages.decrypt`.
    public let path: String
    /// The folder at which relative paths start.
    public let folder: String

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
            problems.append(
                SettingProblem(place: place, path: path, message: "expected a map, found \(setting.summary)"))
        }
    }

    /// What was read so far, in that order, with every default filled in and secrets hidden.
    public var effective: Setting { Setting(place: place, value: .map(shown)) }

    /// Adds a problem with the map as a whole.
    public mutating func report(_ message: String) {
        problems.append(SettingProblem(place: place, path: path, message: message))
    }

    /// Adds a problem with a key; where that is missing, it is told at the map.
    public mutating func report(_ key: String, _ message: String) { report(at: [key], message) }

    /// Adds a problem with a key of a map inside; what is missing is told at the innermost map that is there.
    public mutating func report(at keys: [String], _ message: String) { problems.append(problem(at: keys, message)) }

    /// Adds a word of warning about a key, which keeps nothing from starting.
    public mutating func warn(_ key: String, _ message: String) { warnings.append(problem(at: [key], message)) }

    private mutating func problem(at keys: [String], _ message: String) -> SettingProblem {
        let names = keys.map(SettingOverrides.variableName)
        var found = Setting(place: place, value: .map(members))
        for key in keys {
            guard case .map(let members) = found.value, let next = members.first(where: { $0.key == key }) else {
                break
            }
            found = next.value
        }
        let override = overrides.setting(([variable] + names).joined(separator: "_"))
        let path = ([self.path] + keys).filter { !$0.isEmpty }.joined(separator: ".")
        return SettingProblem(place: (override ?? found).place, path: path, message: message)
    }

    /// Reports a key that has another name now.
    public mutating func renamed(_ key: String, to name: String) {
        if find(key) != nil { report(key, "it is `\(name)` now") }
    }

    /// Adds a problem whose place is known.
    public mutating func report(_ problem: SettingProblem) { problems.append(problem) }

    /// Reports the keys that nobody has asked for. Called once, by the code that made the reader.
    public mutating func finish() {
        for member in members where !asked.contains(member.key) {
            let message = "unknown key" + Spelling.question(member.key, asked)
            problems.append(SettingProblem(place: member.place, path: path(to: member.key), message: message))
        }
    }

    /// Lets the keys pass that nobody has asked for: nothing is known about them.
    mutating func ignoreRest() { asked += members.map(\.key) }

    func path(to key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    func variable(for key: String) -> String { "\(variable)_\(SettingOverrides.variableName(key))" }

    /// The variable, else what the file says; nil for a missing one and for null.
    mutating func find(_ key: String) -> Setting? {
        if !asked.contains(key) { asked.append(key) }
        let found = overrides.setting(variable(for: key)) ?? members.first { $0.key == key }?.value
        if case .null? = found?.value { return nil }
        return found
    }

    mutating func show(_ key: String, _ value: Setting.Content) {
        shown.append(Setting.Member(key: key, place: place, value: Setting(place: place, value: value)))
    }
}
