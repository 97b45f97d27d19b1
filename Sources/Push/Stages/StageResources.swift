/// What the program lends to the stages when it builds them.
public struct StageResources: Sendable {
    public enum Severity: Sendable { case info, warning, error }

    /// Writes a line to the service's log, about what concerns the stage and no single message: a file was reloaded.
    public let log: @Sendable (Severity, String) -> Void
    /// Takes the stage's files, to read them again when they change.
    package let watcher: FileWatcher

    public init(log: @escaping @Sendable (Severity, String) -> Void) {
        self.init(log: log, watcher: FileWatcher { _, _ in })
    }

    package init(log: @escaping @Sendable (Severity, String) -> Void, watcher: FileWatcher) {
        self.log = log
        self.watcher = watcher
    }
}
