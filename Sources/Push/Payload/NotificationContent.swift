/// The payload of one notification, as stages see and change it: an APNs payload whose untouched bytes stay as they
/// came. A value type: a copy is a snapshot, and may go to another thread. Reading the next payload into the same
/// content reuses its storage.
public struct NotificationContent: Sendable {
    /// The payload as a JSON document, edits included.
    public internal(set) var document = JSONDocument()
    /// What the notification does to its recipient's count once it is published.
    public var badgeOperation: BadgeOperation?
    /// Where the payload as read had them: where they are looked for first.
    private var apsAsRead: JSONNode?
    private var alertAsRead: JSONNode?

    /// An empty payload, to be read into.
    public init() {}

    public init(_ json: String) throws(PayloadError) {
        document = try JSONDocument(json)
        try check()
    }

    /// Copies and reads a payload. After an error the content must be read anew.
    public mutating func read(_ payload: UnsafeRawBufferPointer) throws(PayloadError) {
        badgeOperation = nil
        apsAsRead = nil
        alertAsRead = nil
        try document.read(payload)
        try check()
    }

    private mutating func check() throws(PayloadError) {
        guard document.kind(of: document.root) == .object else { throw .notAnObject }
        apsAsRead = document.member("aps", of: document.root)
        guard let aps = apsAsRead, document.kind(of: aps) == .object else { throw .withoutAps }
        alertAsRead = document.member("alert", of: aps)
    }

    var aps: JSONNode? {
        let aps = document.remains(apsAsRead, in: document.root) ? apsAsRead : document.member("aps", of: document.root)
        guard let aps, document.kind(of: aps) == .object else { return nil }
        return aps
    }

    var alert: JSONNode? {
        guard let aps else { return nil }
        return document.remains(alertAsRead, in: aps) ? alertAsRead : document.member("alert", of: aps)
    }

    // MARK: - The gate

    /// True where `mutable-content` is 1: the sender lets an extension change this notification.
    public var isMutable: Bool {
        guard let node = apsMember("mutable-content") else { return false }
        return document.integer(of: node) == 1
    }

    /// True where the alert would show text: a string that is not empty, or a dictionary with a title, subtitle or body,
    /// or a key for one of them, that is not empty.
    public var hasAlertText: Bool {
        guard let alert else { return false }
        if document.kind(of: alert) == .string { return document.hasText(alert) }
        for text in AlertText.allCases {
            if let node = document.member(text.member, of: alert), document.hasText(node) { return true }
            if let node = document.member(text.keyMember, of: alert), document.hasText(node) { return true }
        }
        return false
    }

    // MARK: - Undoing and rendering

    public var isEdited: Bool { document.isEdited }

    public func mark() -> JSONDocument.Mark { document.mark() }

    /// Undoes every edit since the mark, which must have been made since the last `read`.
    public mutating func rollback(to mark: JSONDocument.Mark) { document.rollback(to: mark) }

    /// Appends the payload as it stands: byte for byte as it came where nothing was edited.
    public func render(into output: inout [UInt8]) { document.render(into: &output) }

    public var renderedByteCount: Int { document.renderedByteCount }
}
