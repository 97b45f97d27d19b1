public enum JSONKind: UInt8, Sendable, BitwiseCopyable {
    case object, array, string, number, `true`, `false`, null
}

/// A handle to a member or element of a document, valid until the document is read again or rolled back beyond the edit
/// that made it.
public struct JSONNode: Sendable, Hashable {
    @usableFromInline let index: UInt32

    @usableFromInline
    init(index: UInt32) { self.index = index }
}

/// An entry of a document's index: a value, and the location (member or element) where it was first put. Ranges are in
/// `JSONStorage.bytes`; indexes are in `JSONStorage.records`, where 0, the root, stands for none.
struct JSONRecord: BitwiseCopyable {
    struct Flags: OptionSet, BitwiseCopyable {
        let rawValue: UInt8

        static let escapedText = Flags(rawValue: 1)
        static let escapedName = Flags(rawValue: 2)
        /// Put in by an edit: its bytes are not between those of its neighbors.
        static let inserted = Flags(rawValue: 4)
        static let removed = Flags(rawValue: 8)
        /// A container with an edit somewhere below it.
        static let changed = Flags(rawValue: 16)
        /// From a ciphertext, with everything below it.
        static let decrypted = Flags(rawValue: 32)
        /// Built from the app's own words, by a key.
        static let localized = Flags(rawValue: 64)
    }

    var start: UInt32
    var end: UInt32
    /// The range of the member's name, without quotes; 0 for an element and the root.
    var nameStart: UInt32 = 0
    var nameEnd: UInt32 = 0
    /// The container's value (not its location).
    var parent: UInt32 = 0
    var firstChild: UInt32 = 0
    var next: UInt32 = 0
    /// The record that holds the current value at this location; 0 for this one.
    var replacement: UInt32 = 0
    var kind: JSONKind
    var flags: Flags = []
    /// The known name that the member has, however it is spelled.
    var name = MemberName.other

    /// Where the member or element begins.
    var memberStart: UInt32 { nameStart == 0 ? start : nameStart - 1 }

    mutating func close(end: UInt32, firstChild: UInt32, next: UInt32) {
        self.end = end
        self.firstChild = firstChild
        self.next = next
    }
}
