/// Versions of what instances of a group write for each other: a commit's metadata, and records of the changelog.
///
/// A new version comes in two releases. The first reads it and still writes the version before; the next one writes it. So
/// neighbours read all that either of them writes, and a group may be half of each while it is updated, either way. What is
/// newer than that is not read, nor passed over: its partition waits for an instance that knows it.
package enum FormatVersion: UInt8, Sendable {
    case current = 1
    /// Read already, and written by the next release: and by half of a group in tests.
    case next = 2
}
