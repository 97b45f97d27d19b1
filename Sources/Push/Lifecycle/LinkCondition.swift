/// A stage's `when:`, made ready for many messages.
struct LinkCondition: Sendable {
    private let categories: [[UInt8]]
    private let topics: [[UInt8]]
    private let pushTypes: [[UInt8]]
    private let member: JSONPointer?

    /// Nil if it asks for nothing.
    init?(_ condition: StageCondition) {
        categories = condition.categories.map { Array($0.utf8) }
        topics = condition.topics.map { Array($0.utf8) }
        pushTypes = condition.pushTypes.map { Array($0.utf8) }
        member = condition.member
        if categories.isEmpty, topics.isEmpty, pushTypes.isEmpty, member == nil { return nil }
    }

    func holds(for content: NotificationContent, _ record: InputRecord) -> Bool {
        if let member, content.node(at: member) == nil { return false }
        if !topics.isEmpty, !names(topics, record.value(of: .apnsTopic)) { return false }
        if !pushTypes.isEmpty, !names(pushTypes, record.value(of: .apnsPushType)) { return false }
        return categories.isEmpty || namesCategory(of: content)
    }

    private func names(_ values: [[UInt8]], _ value: UnsafeRawBufferPointer?) -> Bool {
        guard let value else { return false }
        return values.contains { $0.withUnsafeBytes(value.hasBytes) }
    }

    private func namesCategory(of content: NotificationContent) -> Bool {
        guard let category = content.apsMember("category") else { return false }
        return content.document.withText(of: category) { text in
            text.withUnsafeBytes { names(categories, $0) }
        } ?? false
    }
}
