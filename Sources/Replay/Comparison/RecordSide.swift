package import PushmillStages

/// What a report shows of a record, before or after.
package struct RecordSide: Sendable, Equatable {
    package let key: String
    package let outcome: String
    /// The app: the header `apns-topic`.
    package let app: String
    package var title: String?
    package var subtitle: String?
    package var body: String?
    package var badge: String?
    package var category: String?

    package init(_ record: RecordEnvelope) {
        key = record.key.map { String(decoding: $0, as: UTF8.self) } ?? ""
        outcome = record.text("pushmill-outcome") ?? ""
        app = record.text("apns-topic") ?? ""
        guard let content = NotificationContent(record) else { return }
        title = content.shown(.title)
        subtitle = content.shown(.subtitle)
        body = content.shown(.body)
        badge = content.badge.map { "\($0)" }
        category = content.category
    }
}

extension NotificationContent {
    /// Nil for what is no notification.
    init?(_ record: RecordEnvelope) {
        guard let payload = record.payload else { return nil }
        self.init()
        do throws(PayloadError) {
            try payload.withUnsafeBufferPointer { (bytes) throws(PayloadError) in
                try read(UnsafeRawBufferPointer(bytes))
            }
        } catch {
            return nil
        }
    }

    /// The text, else the key that the device would look up.
    fileprivate func shown(_ text: AlertText) -> String? {
        if let pointer = JSONPointer("/aps/alert/\(text.member)"), let found = string(at: pointer) { return found }
        return JSONPointer("/aps/alert/\(text.keyMember)").flatMap(string)
    }
}
