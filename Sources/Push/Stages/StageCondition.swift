/// A stage's `when:`. Every condition that is given has to hold; a list holds when it names the message's value.
public struct StageCondition: Sendable, Equatable {
    public let categories: [String]
    public let topics: [String]
    public let pushTypes: [String]
    /// Has to be there.
    public let member: JSONPointer?

    public init(
        categories: [String] = [], topics: [String] = [], pushTypes: [String] = [], member: JSONPointer? = nil
    ) {
        self.categories = categories
        self.topics = topics
        self.pushTypes = pushTypes
        self.member = member
    }

    init(from settings: inout SettingReader) {
        categories = settings.list("category", .name)
        topics = settings.list("apns-topic", .name)
        pushTypes = settings.list("push-type", .name)
        member = settings.optional("has", .pointer)
    }
}
