/// A stage's `when:`. Every condition that is given has to hold; a list holds when it names the message's value.
public struct StageCondition: Sendable, Equatable {
    public let categories: [String]
    public let topics: [String]
    public let pushTypes: [String]
    /// The pointer of a member that has to be there.
    public let member: String?

    init(from settings: inout SettingReader) {
        categories = settings.list("category", .name)
        topics = settings.list("apns-topic", .name)
        pushTypes = settings.list("push-type", .name)
        member = settings.optional("has", .pointer)
    }
}
