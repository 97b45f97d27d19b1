import CPushmillICU

/// The direction of a text, by its letters. As in UAX 9, the first one that has a direction decides, and letters inside
/// isolates do not count.
public struct TextDirection: Sendable, Equatable, RawRepresentable {
    /// 0 if no letter has a direction, 1 for left to right, 2 for right to left; 4 is added if letters of the other
    /// direction follow.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue & 7 }

    public static let none = TextDirection(rawValue: 0)

    /// Takes UTF-8; bytes that are not UTF-8 have no direction.
    public init(of text: Span<UInt8>) {
        var isolates = 0
        self.init(text, upTo: 4, inside: &isolates)
    }

    /// Looks only at the first letter that has a direction, in a part of a text that begins inside so many isolates.
    package init(ofFirstLetterIn text: Span<UInt8>, inside isolates: inout Int) {
        self.init(text, upTo: 1, inside: &isolates)
    }

    /// Stops once `found` is at least `enough`.
    private init(_ text: Span<UInt8>, upTo enough: UInt8, inside isolates: inout Int) {
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
                switch scalar {
                case 0x2066...0x2068: isolates += 1
                case 0x2069: isolates = max(0, isolates - 1)
                default: direction = UInt8(truncatingIfNeeded: pushmill_icu_direction(Int32(bitPattern: scalar)))
                }
                at += length
            }
            if direction == 0 || direction == found || isolates > 0 { continue }
            found = found == 0 ? direction : found | 4
        }
        self.init(rawValue: found)
    }

    /// True if no letter runs against the other text's direction, or that text has no letters. A text without letters
    /// of its own, such as a telephone number, runs from left to right.
    package func agrees(with text: TextDirection) -> Bool {
        text.rawValue == 0 || rawValue < 4 && max(rawValue, 1) == text.rawValue & 3
    }

    private static func isLetter(_ byte: UInt8) -> Bool { byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A }

    /// The scalar that begins here and the bytes it takes. Only its direction matters, so it is only checked for being
    /// inside the text.
    private static func scalar(_ text: Span<UInt8>, _ start: Int) -> (UInt32, Int) {
        let first = UInt32(text[start])
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        guard first >= 0xC0, start + length <= text.count else { return (0, 1) }
        var scalar = first & (0x7F >> UInt32(length))
        for at in start + 1..<start + length { scalar = scalar << 6 | UInt32(text[at] & 0x3F) }
        return (scalar, length)
    }
}
