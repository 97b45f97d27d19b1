/// One mistake in a configuration, worded for the person who wrote it.
public struct SettingProblem: Error, Sendable, Hashable {
    public let place: Place
    /// The keys that lead there, such as `stages.decrypt.fields[0].from`; empty for the file as a whole.
    public let path: String
    public let message: String

    public init(place: Place, path: String, message: String) {
        self.place = place
        self.path = path
        self.message = message
    }
}

extension SettingProblem: CustomStringConvertible {
    public var description: String {
        path.isEmpty ? "\(place): \(message)" : "\(place): \(path): \(message)"
    }
}
