/// One node of a configuration in any file format. Scalars are text; the code that reads them decides what they mean.
public struct Setting: Sendable {
    public enum Content: Sendable {
        case null
        case scalar(String)
        case list([Setting])
        /// In the order of the file; no key comes twice.
        case map([Member])
    }

    public struct Member: Sendable {
        public let key: String
        /// Where the key stands.
        public let place: Place
        public let value: Setting

        public init(key: String, place: Place, value: Setting) {
            self.key = key
            self.place = place
            self.value = value
        }
    }

    public let place: Place
    public let value: Content

    public init(place: Place, value: Content) {
        self.place = place
        self.value = value
    }
}

/// One mistake in a configuration, worded for the person who wrote it.
public struct SettingProblem: Error, Sendable, Hashable {
    public let place: Place
    /// The keys that lead there, such as `stages.decrypt.fields[0].from`; empty for the file as a whole.
    public let path: String
    public let message: String

    /// Cuts the path at a colon, '=' or white space: behind a colon that lacks its space there may be a password.
    public init(place: Place, path: String, message: String) {
        self.place = place
        self.path = Self.shown(path)
        self.message = message
    }

    /// A key or path as it may be shown.
    package static func shown(_ path: String) -> String {
        let end = path.firstIndex { ":=".contains($0) || $0.isWhitespace }
        return end.map { path[..<$0] + "…" } ?? path
    }
}

extension SettingProblem: CustomStringConvertible {
    public var description: String {
        path.isEmpty ? "\(place): \(message)" : "\(place): \(path): \(message)"
    }
}

/// Where a setting was written. Lines and columns count from 1.
public enum Place: Sendable, Hashable {
    case file(String, line: Int, column: Int)
    /// An environment variable, by its name.
    case variable(String)
}

extension Place: CustomStringConvertible {
    public var description: String {
        switch self {
        case .file(let name, let line, let column): "\(name):\(line):\(column)"
        case .variable(let name): name
        }
    }
}

extension Place: Comparable {
    /// Files by line and column, variables after them by name.
    public static func < (left: Place, right: Place) -> Bool { left.rank < right.rank }

    private var rank: (line: Int, column: Int, variable: String) {
        switch self {
        case .file(_, let line, let column): (line, column, "")
        case .variable(let name): (.max, .max, name)
        }
    }
}

/// Environment variables that override settings: `PREFIX_DELIVERY_MAX_IN_FLIGHT` is `delivery: max-in-flight`.
///
/// Readers ask for the names they know; a variable that no reader asked for is a mistake.
public struct SettingOverrides: Sendable {
    let prefix: String
    private let variables: [String: String]
    /// Variables that belong to other programs: not mistakes, even if no reader asks for them.
    private let foreign: Set<String>
    private var asked: Set<String> = []

    /// An empty prefix means no overrides.
    public init(prefix: String = "", variables: [String: String] = [:], foreign: Set<String> = []) {
        self.prefix = prefix
        self.variables = prefix.isEmpty ? [:] : variables.filter { $0.key.hasPrefix("\(prefix)_") }
        self.foreign = foreign
    }

    /// An empty variable is null: the setting gets its default, whatever the file says.
    mutating func setting(_ name: String) -> Setting? {
        asked.insert(name)
        return variables[name].map { Setting(place: .variable(name), value: $0.isEmpty ? .null : .scalar($0)) }
    }

    /// The variables below a name that no reader has asked for yet, sorted: `A_B_C` below `A_B`, as `C`.
    func unasked(below name: String) -> [String] {
        variables.keys.filter { $0.hasPrefix("\(name)_") && !asked.contains($0) && !foreign.contains($0) }
            .map { String($0.dropFirst(name.utf8.count + 1)) }
            .sorted()
    }

    /// One problem for each variable that overrides nothing.
    public var problems: [SettingProblem] {
        // Without the prefix, which would make all names look alike.
        let known = asked.map { $0.dropFirst(prefix.utf8.count + 1) }.sorted().map { String($0) }
        return unasked(below: prefix).map { name in
            let question = Spelling.question(name, known, prefix: "\(prefix)_")
            return SettingProblem(
                place: .variable("\(prefix)_\(name)"), path: "", message: "no such setting\(question)")
        }
    }

    /// `aps-id.x` as a part of a variable's name: `APS_ID_X`.
    static func variableName(_ key: String) -> String {
        let scalars = key.uppercased().unicodeScalars.map {
            $0.properties.isAlphabetic || ("0"..."9").contains($0) ? $0 : "_"
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
