/// The names under which recipients know others. Every shard uses it at once.
public protocol ContactBook: AnyObject, Sendable {
    /// Gives the name that the owner has for the identifier, as `ContactName` cleans it; false if there is none. May
    /// read a local file, which takes microseconds, and keeps what it found. The name is good within `body`, which does
    /// not call the book.
    func find(
        _ id: RawSpan, of owner: RawSpan, _ body: (_ name: Span<UInt8>, TextDirection) -> Void
    ) throws(ContactsUnavailable) -> Bool
}

/// The names cannot be read now.
public struct ContactsUnavailable: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// Whose contacts are everyone's: the shared directory.
public enum ContactDirectory {
    public static let owner = "*"
}
