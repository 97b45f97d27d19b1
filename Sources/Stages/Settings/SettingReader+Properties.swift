/// A setting whose name is defined elsewhere, such as a property of a C library.
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
    /// All keys not asked for, except `maps`, as scalars under their own names. In a variable's name `_` stands for a
    /// dot: `…_SESSION_TIMEOUT_MS` is `session.timeout.ms`; a trailing `…_FILE` is `…-file`, where a secret is.
    /// `problem` says what is wrong with the name of a key without a value, which is not in the result.
    public mutating func properties(
        besides maps: [String] = [], defaults: [(name: String, value: String)] = [],
        format: (_ name: String) -> SettingFormat<String>, problem: (_ name: String) -> String? = { _ in nil }
    ) -> [SettingProperty] {
        var names = defaults.map(\.name)
        for member in members where !(maps + asked + names).contains(member.key) { names.append(member.key) }
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
            guard let value = found.flatMap({ parse($0, format, path(to: name)) }) ?? standard else {
                if found == nil, let problem = problem(name) { report(name, problem) }
                return nil
            }
            show(name, .scalar(format.render(value)))
            return SettingProperty(name: name, value: value, place: found?.place)
        }
    }
}

/// Finds the name that was meant by a mistyped one.
package enum Spelling {
    /// The nearest of the candidates, if it is near enough to suggest.
    package static func nearest(to name: String, in candidates: some Sequence<String>) -> String? {
        let typed = Array(name.lowercased().unicodeScalars)
        let limit = max(1, typed.count / 3)
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let letters = Array(candidate.lowercased().unicodeScalars)
            let isBeginning = typed.count >= 3 && typed.count * 2 >= letters.count && letters.starts(with: typed)
            guard isBeginning || abs(letters.count - typed.count) <= limit else { continue }
            let distance = isBeginning ? limit : distance(typed, letters)
            if distance <= limit, distance < typed.count, distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.candidate
    }

    /// `; did you mean "x"?`, or nothing.
    package static func question(_ name: String, _ candidates: some Sequence<String>, prefix: String = "") -> String {
        nearest(to: name, in: candidates).map { "; did you mean \"\(prefix)\($0)\"?" } ?? ""
    }

    /// How many letters differ: inserted, deleted, replaced or moved ones.
    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        let difference = left.difference(from: right)
        return max(difference.insertions.count, difference.removals.count)
    }
}
