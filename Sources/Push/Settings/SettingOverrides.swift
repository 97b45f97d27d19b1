/// Variables that take the place of settings: `PREFIX_DELIVERY_MAX_IN_FLIGHT` is `delivery: max-in-flight`.
///
/// Readers ask for the names they know, so that what nobody asked for is known to be a mistake.
public struct SettingOverrides: Sendable {
    let prefix: String
    private let variables: [String: String]
    private var asked: Set<String> = []

    /// No overrides at all.
    public init() { self.init(prefix: "", variables: [:]) }

    public init(prefix: String, variables: [String: String]) {
        self.prefix = prefix
        self.variables = prefix.isEmpty ? [:] : variables.filter { $0.key.hasPrefix("\(prefix)_") }
    }

    /// An empty variable is as good as none: it gives the default.
    mutating func setting(_ name: String) -> Setting? {
        asked.insert(name)
        return variables[name].map { Setting(place: .variable(name), value: $0.isEmpty ? .null : .scalar($0)) }
    }

    /// What nobody has asked for yet below a name: `A_B_C` below `A_B`, as `C`, sorted.
    func unasked(below name: String) -> [String] {
        variables.keys.filter { $0.hasPrefix("\(name)_") && !asked.contains($0) }
            .map { String($0.dropFirst(name.utf8.count + 1)) }
            .sorted()
    }

    /// One problem for each variable that overrides nothing.
    public var problems: [SettingProblem] {
        // The prefix is nobody's mistake: it would make all names look alike.
        let known = asked.map { $0.dropFirst(prefix.utf8.count + 1) }.sorted().map { String($0) }
        return unasked(below: prefix).map { name in
            let question = Spelling.nearest(to: name, in: known).map { "; did you mean \"\(prefix)_\($0)\"?" } ?? ""
            return SettingProblem(
                place: .variable("\(prefix)_\(name)"), path: "", message: "no setting goes by this name\(question)")
        }
    }

    /// `aps-id.x` as a part of a variable's name: `APS_ID_X`.
    static func variableName(_ key: String) -> String {
        String(
            String.UnicodeScalarView(
                key.uppercased().unicodeScalars.map { $0.properties.isAlphabetic || $0.isDigit ? $0 : "_" }))
    }
}

extension Unicode.Scalar {
    fileprivate var isDigit: Bool { ("0"..."9").contains(self) }
}
