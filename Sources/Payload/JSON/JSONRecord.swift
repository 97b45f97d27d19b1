/// What a JSON value is.
public enum JSONKind: UInt8, Sendable, BitwiseCopyable {
    case object, array, string, number, `true`, `false`, null
}

/// A handle to one member or element of a document: good until the document is read anew or rolled back beyond the
/// edit that made it.
public struct JSONNode: Sendable, Hashable {
    @usableFromInline let index: UInt32

    @usableFromInline
    init(index: UInt32) { self.index = index }
}

/// One line of a document's index: a value, and the place (member or element) in which it was first put. Ranges are in
/// `JSONStorage.bytes`; indexes are in `JSONStorage.records`, where 0, the root, stands for none.
struct JSONRecord: BitwiseCopyable {
    struct Flags: OptionSet, BitwiseCopyable {
        let rawValue: UInt8

        static let escapedText = Flags(rawValue: 1)
        static let escapedName = Flags(rawValue: 2)
        /// Put in by an edit: its bytes do not stand between its neighbours'.
        static let inserted = Flags(rawValue: 4)
        static let removed = Flags(rawValue: 8)
        /// A container with an edit somewhere below it.
        static let changed = Flags(rawValue: 16)
        /// Out of a ciphertext, with all that is below it.
        static let decrypted = Flags(rawValue: 32)
        /// Put together from the app's own words, by a key.
        static let localized = Flags(rawValue: 64)
        /// With any of these, a child is not rendered as it came.
        static let edited: Flags = [.inserted, .removed, .changed]
    }

    var start: UInt32
    var end: UInt32 = 0
    /// The member's name, without its quotes; 0 for an element and the root.
    var nameStart: UInt32 = 0
    var nameEnd: UInt32 = 0
    /// The container's value (not its place).
    var parent: UInt32 = 0
    var firstChild: UInt32 = 0
    var next: UInt32 = 0
    /// The record that holds this place's value now.
    var replacement: UInt32 = 0
    var kind: JSONKind
    var flags: Flags = []
    /// Which of the known names the member has, however that is spelled.
    var name = MemberName.other

    /// Where the member or element begins.
    var placeStart: UInt32 { nameStart == 0 ? start : nameStart - 1 }

    mutating func close(end: UInt32, firstChild: UInt32, next: UInt32) {
        self.end = end
        self.firstChild = firstChild
        self.next = next
    }
}

/// Objects of texts and numbers being written as JSON Lines.
package struct JSONLines {
    package private(set) var bytes: [UInt8] = []
    private var isFirst = true

    package init() {}

    package mutating func clear() { bytes.removeAll(keepingCapacity: true) }

    package mutating func begin() {
        bytes.append(UInt8(ascii: "{"))
        isFirst = true
    }

    package mutating func end() { bytes.append("}\n") }

    /// What is no UTF-8 goes, in base64, into a member whose name ends in `_b64`.
    package mutating func add(_ name: StaticString, _ text: RawSpan) {
        text.withUnsafeBytes { text in
            let isText = (try? UTF8Span(validating: text.bindMemory(to: UInt8.self).span)) != nil
            begin(name, isText ? "" : "_b64")
            if isText {
                JSONText.appendQuoted(text.bindMemory(to: UInt8.self), to: &bytes)
            } else {
                bytes.append(UInt8(ascii: "\""))
                Base64.encode(text, into: &bytes)
                bytes.append(UInt8(ascii: "\""))
            }
        }
    }

    package mutating func add(_ name: StaticString, _ number: Int32) {
        begin(name, "")
        bytes.append(decimal: number)
    }

    private mutating func begin(_ name: StaticString, _ ending: StaticString) {
        bytes.append(isFirst ? "\"" : ",\"")
        bytes.append(name)
        bytes.append(ending)
        bytes.append("\":")
        isFirst = false
    }
}
