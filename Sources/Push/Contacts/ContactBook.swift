/// The names under which recipients know others. Used by all lanes at once.
public protocol ContactBook: Sendable {
    /// Appends the name that the owner has for the identifier, as `ContactName` cleans it, and tells its direction; nil
    /// if there is none. May read a local file, which takes microseconds, and keeps what it found.
    func append(
        nameOf id: RawSpan, for owner: RawSpan, to text: inout [UInt8]
    ) throws(ContactsUnavailable) -> TextDirection?
}

/// The names cannot be read now.
public struct ContactsUnavailable: Error {
    public let message: String

    public init(_ message: String) { self.message = message }
}

/// Whose contacts are everyone's: the shared directory.
public enum ContactDirectory {
    public static let owner = "*"
}
