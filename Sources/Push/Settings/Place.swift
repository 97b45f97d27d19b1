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
    public static func < (left: Place, right: Place) -> Bool {
        switch (left, right) {
        case (.file(_, let line, let column), .file(_, let otherLine, let otherColumn)):
            (line, column) < (otherLine, otherColumn)
        case (.file, .variable): true
        case (.variable, .file): false
        case (.variable(let name), .variable(let other)): name < other
        }
    }
}
