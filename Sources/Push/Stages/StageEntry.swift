/// A kind of stage: the name by which a configuration asks for it, and how its settings become a stage.
///
///     StageEntry("lottery") { settings in
///         guard let tickets = settings.required("tickets", .file) else { return nil }
///         return { _ in try LotteryStage(tickets: tickets) }
///     }
public struct StageEntry: Sendable {
    /// Opens what the stage needs. Not called when a configuration is only checked.
    public typealias Build = @Sendable (StageResources) async throws -> any Stage

    public let name: String
    package let read: @Sendable (inout SettingReader) -> Build?

    /// `read` asks for every setting it knows, touches nothing outside, and returns nil only after a problem.
    public init(_ name: String, read: @escaping @Sendable (inout SettingReader) -> Build?) {
        self.name = name
        self.read = read
    }
}
