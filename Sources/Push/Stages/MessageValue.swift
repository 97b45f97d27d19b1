/// A place where a message may say something about itself, such as whose it is or which key opens it.
public enum MessageValue: Sendable, Equatable {
    /// A member of the payload, if it is a string.
    case member(JSONPointer)
    /// A header, by the UTF-8 of its name.
    case header([UInt8])
    case recipient
    /// The record's key.
    case key

    /// Nil where the message has no such value.
    public func withBytes<R, E: Error>(
        _ content: borrowing NotificationContent, _ context: StageContext,
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R? {
        switch self {
        case .member(let pointer):
            return try content.withText(at: pointer) { (text) throws(E) in
                try text.withUnsafeBytes { (text) throws(E) in try body(text) }
            }
        case .header(let name): return try context.headerBytes(name.span).map(body)
        case .recipient: return try context.recipientBytes.map(body)
        case .key: return try context.keyBytes.map(body)
        }
    }
}

extension SettingFormat where Value == MessageValue {
    /// `/member`, `header:name`, `recipient` or `key`.
    public static var messageValue: Self {
        Self(
            parse: { text throws(SettingMismatch) in
                if text.hasPrefix("/"), let pointer = JSONPointer(text) { return .member(pointer) }
                let prefix = "header:"
                if text.hasPrefix(prefix), text != prefix {
                    return .header(Array(text.utf8.dropFirst(prefix.utf8.count)))
                }
                switch text {
                case "recipient": return .recipient
                case "key": return .key
                default:
                    throw SettingMismatch(
                        expected: "/member, header:name, recipient or key", candidates: ["recipient", "key"])
                }
            },
            render: { value in
                switch value {
                case .member(let pointer): pointer.description
                case .header(let name): "header:" + String(decoding: name, as: UTF8.self)
                case .recipient: "recipient"
                case .key: "key"
                }
            })
    }
}
