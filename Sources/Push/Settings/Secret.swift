/// A text that never shows itself: not in descriptions, dumps or string interpolation.
public struct Secret: Sendable, Equatable {
    /// What is shown in its place.
    public static let hidden = "(hidden)"

    public let revealed: String

    public init(_ text: String) { revealed = text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { Self.hidden }
    public var debugDescription: String { Self.hidden }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
