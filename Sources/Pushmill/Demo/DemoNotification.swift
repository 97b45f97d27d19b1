import PushmillStages

/// A payload as a lock screen would show it.
struct DemoNotification: Encodable, Sendable {
    private(set) var title: String?
    private(set) var subtitle: String?
    private(set) var body: String?
    private(set) var badge: Int?

    init(_ payload: String) {
        guard let content = try? NotificationContent(payload) else {
            body = payload
            return
        }
        title = content.title ?? content.localizationKey(of: .title)
        subtitle = content.subtitle ?? content.localizationKey(of: .subtitle)
        body = content.body ?? content.localizationKey(of: .body)
        badge = content.badge
        guard title != nil || subtitle != nil || body != nil else {
            body = "(silent)"
            return
        }
        if JSONPointer("/ENCRYPTED_DATA").flatMap(content.string) != nil { body = "\(body ?? "") 🔒" }
    }

    /// In one line.
    var text: String {
        let texts = [title, subtitle, body].compactMap { $0 }.filter { !$0.isEmpty }
        return texts.joined(separator: " · ") + (badge.map { " [\($0)]" } ?? "")
    }
}
