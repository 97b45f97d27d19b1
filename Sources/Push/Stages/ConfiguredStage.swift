/// A stage as the configuration wants it, not built yet.
public struct ConfiguredStage: Sendable {
    public let name: String
    public let condition: StageCondition
    /// The time it may take of the message's deadline; nil for all of it.
    public let budget: Duration?

    package let place: Place
    package let path: String
    /// As they took effect.
    let settings: Setting
    let make: StageEntry.Build

    /// Builds the stage; what goes wrong is told with the place of the stage in the configuration.
    public func build(_ resources: StageResources) async throws(SettingProblem) -> any Stage {
        do {
            return try await make(resources.lent(to: name))
        } catch let problem as SettingProblem {
            throw problem
        } catch {
            throw SettingProblem(place: place, path: path, message: "\(error)")
        }
    }
}
