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
