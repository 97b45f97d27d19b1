/// How much a line matters, the most important first.
public enum LogLevel: UInt8, Sendable, CaseIterable {
    case error, warning, info, debug, trace

    /// As configuration, log lines and labels spell it.
    public var name: String {
        switch self {
        case .error: "error"
        case .warning: "warning"
        case .info: "info"
        case .debug: "debug"
        case .trace: "trace"
        }
    }

    public init?(name: some StringProtocol) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }
}

extension LogLevel: Comparable {
    /// The more important is the greater: `.error > .trace`.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue > right.rawValue }
}
