import PushmillPayload

/// What the program provides to stages when it builds them.
public struct StageResources: Sendable {
    public enum Severity: Sendable { case info, warning, error }

    public typealias Log = @Sendable (Severity, String) -> Void

    /// Writes a line to the service's log, with the stage as a field. For events that concern the stage and not one
    /// message, such as a reloaded file.
    public var log: Log { { [stage, write] severity, message in write(severity, stage, message) } }
    /// The name of the stage being built.
    private var stage = ""
    private let write: @Sendable (Severity, _ stage: String, String) -> Void
    private let watcher: FileWatcher
    /// Opens a source of contacts; a file is also watched.
    package let contacts: ContactOpener

    /// Opens a source of media.
    package let media: MediaOpener
    /// Whether the keys of the examples are refused.
    package var refusesSamples = false

    package typealias ContactOpener = @Sendable (ContactSource) throws -> any ContactBook
    package typealias MediaOpener = @Sendable (MediaSettings, @escaping Log) throws -> any MediaSource

    public init(log: @escaping Log) {
        self.init(log: { severity, _, message in log(severity, message) }, watcher: FileWatcher { _, _, _ in })
    }

    package init(
        log: @escaping @Sendable (Severity, _ stage: String, String) -> Void, watcher: FileWatcher,
        contacts: @escaping ContactOpener = { throw ContactsUnavailable("\($0) is not available here") },
        media: @escaping MediaOpener = { settings, _ in
            throw FileFailure(path: settings.folder, what: "no media is kept here")
        }
    ) {
        write = log
        self.watcher = watcher
        self.contacts = contacts
        self.media = media
    }

    /// Takes a file of the stage and reloads it when it changes.
    package func watch(_ file: any Reloadable) { watcher.add(file, of: stage) }

    /// The resources for one stage; its log lines and watched files carry its name.
    func lent(to stage: String) -> StageResources {
        var resources = self
        resources.stage = stage
        return resources
    }
}
