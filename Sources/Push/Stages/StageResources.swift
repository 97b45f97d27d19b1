/// What the program lends to the stages when it builds them.
public struct StageResources: Sendable {
    public enum Severity: Sendable { case info, warning, error }

    /// Writes a line to the service's log, about what concerns the stage and no single message: a file was reloaded.
    public let log: @Sendable (Severity, String) -> Void

    public init(log: @escaping @Sendable (Severity, String) -> Void) { self.log = log }
}
