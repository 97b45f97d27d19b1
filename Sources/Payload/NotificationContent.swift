/// The payload of one notification, as stages see and change it: an APNs payload whose untouched bytes stay unchanged.
/// A value type: a copy is a snapshot and may go to another thread. Reading the next payload into the same content
/// reuses its storage.
public struct NotificationContent: Sendable {
    /// The payload as a JSON document, edits included.
    public internal(set) var document = JSONDocument()
    /// How the notification changes its recipient's count once it is published.
    public var badgeOperation: BadgeOperation?

    /// An empty payload, to be read into.
    public init() {}

    public init(_ json: String) throws(PayloadError) {
        document = try JSONDocument(json)
        try check()
    }

    /// Copies and reads a payload. After an error the content must be read again.
    public mutating func read(_ payload: UnsafeRawBufferPointer) throws(PayloadError) {
        badgeOperation = nil
        try document.read(payload)
        try check()
    }

    private func check() throws(PayloadError) {
        guard document.kind(of: document.root) == .object else { throw .notAnObject }
        guard aps != nil else { throw .withoutAps }
    }

    var aps: JSONNode? {
        guard let aps = document.member(.aps, of: document.root), document.kind(of: aps) == .object else { return nil }
        return aps
    }

    package var alert: JSONNode? {
        guard let aps else { return nil }
        return document.member(.alert, of: aps)
    }

    // MARK: - The gate

    /// True if `mutable-content` is 1: the sender lets an extension change this notification.
    public var isMutable: Bool {
        apsInteger(.mutableContent) == 1
    }

    /// True if the alert would show text: a non-empty string, or a dictionary with a non-empty title, subtitle or body
    /// or a non-empty key for one of them.
    public var hasAlertText: Bool {
        guard let alert else { return false }
        if document.kind(of: alert) == .string { return document.hasText(alert) }
        func hasText(_ text: AlertText) -> Bool {
            self.hasText(text.name, in: alert) || self.hasText(text.keyName, in: alert)
        }
        return hasText(.title) || hasText(.subtitle) || hasText(.body)
    }

    private func hasText(_ name: MemberName, in alert: JSONNode) -> Bool {
        guard let member = document.member(name, of: alert) else { return false }
        return document.hasText(member)
    }

    // MARK: - Undoing and rendering

    public var isEdited: Bool { document.isEdited }

    public func savepoint() -> JSONDocument.Savepoint { document.savepoint() }

    /// Whether the savepoint was made for this payload; false once another, or an earlier state of it, has replaced it.
    package func isOf(_ savepoint: JSONDocument.Savepoint) -> Bool { document.isOf(savepoint) }

    /// Undoes every edit since the savepoint, which must have been made since the last `read`.
    public mutating func rollback(to savepoint: JSONDocument.Savepoint) { document.rollback(to: savepoint) }

    /// Appends the payload with its edits: byte for byte as read where nothing was edited.
    public func render(into output: inout [UInt8]) { document.render(into: &output) }

    public var renderedByteCount: Int { document.renderedByteCount }
}

extension NotificationContent {
    /// Shortens the longest of body, subtitle and title, at the end of a character and with "…", until the payload
    /// takes at most `limit` bytes; if that is not enough, the next longest too. False, with nothing changed, if no
    /// shortening is enough.
    public mutating func shorten(toFit limit: Int) -> Bool {
        let savepoint = savepoint()
        var texts: [AlertText] = [.body, .subtitle, .title]
        while renderedByteCount > limit {
            guard let longest = texts.max(by: { size(of: $0) < size(of: $1) }) else {
                rollback(to: savepoint)
                return false
            }
            texts.removeAll { $0 == longest }
            let room = limit - renderedByteCount + size(of: longest) - "\"\"".utf8.count
            if Self.prefix(of: node(of: longest).flatMap(document.string) ?? "", takingAtMost: room) == "…" {
                // Nothing of this text would remain; removing unneeded escapes from the others may make room.
                for text in texts { if let node = node(of: text) { shorten(node, by: 0) } }
            }
            if let node = node(of: longest) { shorten(node, by: renderedByteCount - limit) }
        }
        return true
    }

    private func size(of text: AlertText) -> Int {
        node(of: text).map { document.kind(of: $0) == .string ? document.renderedByteCount(of: $0) : 0 } ?? 0
    }

    private mutating func shorten(_ node: JSONNode, by excess: Int) {
        guard let text = document.string(of: node) else { return }
        let size = document.renderedByteCount(of: node)
        let quotes = 2
        // Removing unneeded escapes may be enough.
        var shortened = text
        if quotes + JSONText.escapedCount(text.utf8) > size - excess {
            shortened = Self.prefix(of: text, takingAtMost: size - excess - quotes)
        }
        guard quotes + JSONText.escapedCount(shortened.utf8) < size else { return }
        document.replace(node, by: document.append(shortened))
    }

    private static func prefix(of text: String, takingAtMost limit: Int) -> String {
        let ellipsis = "…"
        var count = ellipsis.utf8.count
        var end = text.startIndex
        while end < text.endIndex {
            let next = text.index(after: end)
            count += JSONText.escapedCount(text[end..<next].utf8)
            if count > limit { break }
            end = next
        }
        return text[..<end] + ellipsis
    }
}

/// How one event changes its recipient's count in its app.
public enum BadgeOperation: Sendable, Equatable {
    case add(Int32)
    case set(Int32)

    /// A count ranges from 0 to 2^31-1 and saturates at both ends.
    public func applied(to count: Int32) -> Int32 {
        switch self {
        case .add(let increment):
            let (sum, overflow) = count.addingReportingOverflow(increment)
            return overflow ? .max : max(0, sum)
        case .set(let count): return max(0, count)
        }
    }
}

/// Why bytes cannot be a notification. All cases but the first two concern a document that is valid JSON.
public enum PayloadError: Error, Equatable {
    case notJSON(offset: Int, fault: JSONFault)
    /// More than `JSONDocument.maximumDepth` nested containers; the offset is that of the first one too many.
    case tooDeep(offset: Int)
    case notAnObject
    /// There is no `aps`, or it is not an object.
    case withoutAps
    /// More members than any event has. There is a limit because each is compared with the others.
    case tooManyMembers
}

/// What RFC 8259 does not allow.
public enum JSONFault: String, Sendable {
    case unexpectedEnd = "unexpected end"
    case unexpectedByte = "unexpected byte"
    case byteOrderMark = "byte order mark"
    case missingName = "expected a member name"
    case missingColon = "expected a colon"
    case missingSeparator = "expected a comma or the closing bracket"
    case trailingBytes = "bytes after the value"
    case controlCharacter = "control character in a string"
    case invalidEscape = "invalid escape"
    case invalidUTF8 = "invalid UTF-8"
    case invalidNumber = "invalid number"
    case tooLong = "longer than a gibibyte"
}

extension PayloadError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notJSON(let offset, let fault): "not JSON: \(fault.rawValue) at byte \(offset)"
        case .tooDeep(let offset): "nested deeper than \(JSONDocument.maximumDepth) at byte \(offset)"
        case .notAnObject: "not a JSON object"
        case .withoutAps: "no aps dictionary"
        case .tooManyMembers: "more than \(CloudEvent.maximumMembers) members"
        }
    }
}
