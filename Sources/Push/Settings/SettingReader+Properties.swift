/// A setting whose name belongs to somebody else, such as a property of a C library.
public struct SettingProperty: Sendable {
    public let name: String
    public let value: String
    /// Nil for a default.
    public let place: Place?

    public init(name: String, value: String, place: Place?) {
        self.name = name
        self.value = value
        self.place = place
    }
}

extension SettingProperty: CustomStringConvertible, CustomReflectable {
    /// Only the name: the value may be a password.
    public var description: String { name }
    public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}

extension SettingReader {
    /// All keys that nobody has asked for, `maps` aside, as scalars under their own names. Where a variable sets one,
    /// `_` stands for the dot: `…_SESSION_TIMEOUT_MS` is `session.timeout.ms`. `…_FILE` at the end is `…-file`: where a
    /// secret is.
    public mutating func properties(
        besides maps: [String] = [], defaults: [(name: String, value: String)] = [],
        format: (_ name: String) -> SettingFormat<String>
    ) -> [SettingProperty] {
        var names = defaults.map(\.name)
        for member in members where !maps.contains(member.key) && !asked.contains(member.key) {
            if !names.contains(member.key) { names.append(member.key) }
        }
        let known = Set(names.map { variable(for: $0) })
        let mapVariables = maps.map { "\(SettingOverrides.variableName($0))_" }
        for name in overrides.unasked(below: variable) {
            guard !known.contains("\(variable)_\(name)"), !mapVariables.contains(where: name.hasPrefix) else {
                continue
            }
            let dotted = name.lowercased().replacing("_", with: ".")
            names.append(dotted.hasSuffix(".file") ? dotted.dropLast(5) + "-file" : dotted)
        }
        return names.compactMap { name in
            let format = format(name)
            let standard = defaults.first { $0.name == name }?.value
            let found = find(name)
            guard let value = found.flatMap({ parse($0, format, path(to: name)) }) ?? standard else { return nil }
            show(name, .scalar(format.render(value)))
            return SettingProperty(name: name, value: value, place: found?.place)
        }
    }
}
