import CPushmillICU

/// The way a text runs, by its letters. UAX 9: the first that has a direction decides.
public struct TextDirection: Sendable, Equatable, RawRepresentable {
    /// 0 where nothing has a direction; 1 left to right, 2 right to left; 4 is added where letters of the other direction
    /// follow.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue & 7 }

    public static let none = TextDirection(rawValue: 0)

    /// Of UTF-8; what is no UTF-8 has no direction.
    public init(of text: Span<UInt8>) { self.init(text, upTo: 4) }

    /// Of the first letter alone.
    package init(ofFirstLetterIn text: Span<UInt8>) { self.init(text, upTo: 1) }

    /// Stops when it has found as much.
    private init(_ text: Span<UInt8>, upTo enough: UInt8) {
        var found: UInt8 = 0
        var at = 0
        while at < text.count, found < enough {
            let byte = text[at]
            var direction: UInt8 = 0
            if byte < 0x80 {
                if Self.isLetter(byte) { direction = 1 }
                at += 1
            } else {
                let (scalar, length) = Self.scalar(text, at)
                direction = UInt8(truncatingIfNeeded: pushmill_icu_direction(Int32(bitPattern: scalar)))
                at += length
            }
            if direction == 0 || direction == found { continue }
            found = found == 0 ? direction : found | 4
        }
        self.init(rawValue: found)
    }

    /// True if nothing runs against the letters of the other text; also where that has none. What has no letters itself, such
    /// as a telephone number, runs from left to right.
    package func agrees(with text: TextDirection) -> Bool {
        text.rawValue == 0 || rawValue < 4 && max(rawValue, 1) == text.rawValue & 3
    }

    private static func isLetter(_ byte: UInt8) -> Bool { byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A }

    /// The scalar that begins here and the bytes it takes. Only its direction counts, so that it is not checked for more
    /// than being inside the text.
    private static func scalar(_ text: Span<UInt8>, _ start: Int) -> (UInt32, Int) {
        let first = UInt32(text[start])
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        guard first >= 0xC0, start + length <= text.count else { return (0, 1) }
        var scalar = first & (0x7F >> UInt32(length))
        for at in start + 1..<start + length { scalar = scalar << 6 | UInt32(text[at] & 0x3F) }
        return (scalar, length)
    }
}
