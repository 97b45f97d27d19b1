public import PushmillPayload

/// Where a stage finds a text of the message: `recipient`, `key`, `header:NAME`, or a member by its JSON Pointer.
public enum ValueSource: Sendable, Hashable {
    /// The header `recipient`, else the key.
    case recipient
    case key
    /// By the UTF-8 bytes of the name.
    case header([UInt8])
    case member(JSONPointer)

    /// Nil if the text has none of these forms.
    public init?(_ text: String) {
        if text == "recipient" {
            self = .recipient
        } else if text == "key" {
            self = .key
        } else if text.hasPrefix("header:"), text != "header:" {
            self = .header(Array(text.utf8.dropFirst("header:".utf8.count)))
        } else if let pointer = JSONPointer(text), !text.isEmpty {
            self = .member(pointer)
        } else {
            return nil
        }
    }

    /// Calls the body with the text's bytes; nil if the text is missing or empty. A member must be a string.
    public func withBytes<R>(
        _ content: NotificationContent, _ context: StageContext, _ body: (UnsafeBufferPointer<UInt8>) -> R
    ) -> R? {
        if case .member(let pointer) = self {
            return content.withText(at: pointer) { text in
                text.withUnsafeBufferPointer { $0.isEmpty ? nil : body($0) }
            } ?? nil
        }
        return bytes(context)?.withMemoryRebound(to: UInt8.self) { body($0) }
    }

    /// The bytes of a text outside the payload, valid as long as the context. Nil for a member and for an empty text.
    func bytes(_ context: StageContext) -> UnsafeRawBufferPointer? {
        let bytes: UnsafeRawBufferPointer? =
            switch self {
            case .recipient: context.recipientBytes
            case .key: context.keyBytes
            case .header(let name): context.headerBytes(name.span)
            case .member: nil
            }
        return bytes.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension ValueSource: CustomStringConvertible {
    public var description: String {
        switch self {
        case .recipient: "recipient"
        case .key: "key"
        case .header(let name): "header:" + String(decoding: name, as: UTF8.self)
        case .member(let pointer): pointer.description
        }
    }
}

extension SettingFormat where Value == ValueSource {
    /// `recipient`, `key`, `header:NAME` or a JSON Pointer.
    public static var source: Self {
        Self(
            expected: "a JSON Pointer such as /from, header:NAME, recipient or key", candidates: ["recipient", "key"]
        ) { ValueSource($0) }
    }
}
