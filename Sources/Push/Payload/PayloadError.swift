/// Why bytes cannot be a notification. Each case but the first two is about a document that is sound JSON.
public enum PayloadError: Error, Equatable {
    case notJSON(offset: Int, fault: JSONFault)
    /// More than `JSONDocument.maximumDepth` containers inside one another; the offset is that of the first too many.
    case tooDeep(offset: Int)
    case notAnObject
    /// There is no `aps`, or it is not an object.
    case withoutAps
    /// More attributes than any event has: each is looked for among all.
    case tooManyAttributes
}

/// What RFC 8259 does not allow.
public enum JSONFault: String, Sendable {
    case unexpectedEnd = "unexpected end"
    case unexpectedByte = "unexpected byte"
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
        case .tooManyAttributes: "more than \(CloudEvent.maximumAttributes) attributes"
        }
    }
}
