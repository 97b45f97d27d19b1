/// What the program lends to the stages when it builds them.
public struct StageResources: Sendable {
    public enum Severity: Sendable { case info, warning, error }

    /// Writes a line to the service's log, about what concerns the stage and no single message: a file was reloaded.
    public let log: @Sendable (Severity, String) -> Void
    /// Takes the stage's files, to read them again when they change.
    package let watcher: FileWatcher
    /// What the catalog says, for stages that show a text of their own.
    package let texts = SharedTexts()
    /// Opens a source of contacts; it is watched, where it is a file.
    package let contacts: ContactOpener

    /// Opens a source of media.
    package let media: MediaOpener
    /// Keys of examples are no keys.
    package var refusesSamples = false

    package typealias ContactOpener = @Sendable (ContactSource) throws -> any ContactBook
    package typealias MediaOpener = @Sendable (MediaSettings) throws -> any MediaSource

    public init(log: @escaping @Sendable (Severity, String) -> Void) {
        self.init(log: log, watcher: FileWatcher { _, _ in })
    }

    package init(
        log: @escaping @Sendable (Severity, String) -> Void, watcher: FileWatcher,
        contacts: @escaping ContactOpener = { throw ContactsUnavailable("there is no \($0) here") },
        media: @escaping MediaOpener = { throw FileFailure(path: $0.folder, what: "no media is kept here") }
    ) {
        self.log = log
        self.watcher = watcher
        self.contacts = contacts
        self.media = media
    }
}
