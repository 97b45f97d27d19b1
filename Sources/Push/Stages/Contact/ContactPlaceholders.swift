import Glibc

/// The parts of a text: what is shown as it stands, and each `{contact:ID}`, whose identifier is not empty.
struct ContactPlaceholders: Sequence, IteratorProtocol {
    enum Part {
        case literal(UnsafeBufferPointer<UInt8>)
        case contact(id: UnsafeBufferPointer<UInt8>)
    }

    private static let opening: StaticString = "{contact:"

    private let text: UnsafeBufferPointer<UInt8>
    /// Where what was not given yet begins, and where the next placeholder does.
    private var at = 0
    private var placeholder: Range<Int>?

    /// The text is not copied.
    init(_ text: UnsafeBufferPointer<UInt8>) {
        self.text = text
        placeholder = Self.placeholder(in: text, from: 0)
    }

    static func areIn(_ text: Span<UInt8>) -> Bool {
        text.withUnsafeBufferPointer { placeholder(in: $0, from: 0) != nil }
    }

    mutating func next() -> Part? {
        guard let placeholder else {
            defer { at = text.count }
            return at < text.count ? .literal(part(at..<text.count)) : nil
        }
        if at < placeholder.lowerBound {
            defer { at = placeholder.lowerBound }
            return .literal(part(at..<placeholder.lowerBound))
        }
        at = placeholder.upperBound
        self.placeholder = Self.placeholder(in: text, from: at)
        return .contact(id: part(placeholder.lowerBound + Self.opening.utf8CodeUnitCount..<placeholder.upperBound - 1))
    }

    private func part(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: text[range])
    }

    private static func placeholder(in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Range<Int>? {
        guard let base = text.baseAddress else { return nil }
        var at = start
        while let found = memchr(base + at, Int32(UInt8(ascii: "{")), text.count - at) {
            let begin = UnsafeRawPointer(found) - UnsafeRawPointer(base)
            let id = begin + opening.utf8CodeUnitCount
            at = begin + 1
            guard id < text.count, memcmp(found, opening.utf8Start, opening.utf8CodeUnitCount) == 0 else { continue }
            guard let close = memchr(base + id, Int32(UInt8(ascii: "}")), text.count - id) else { return nil }
            let end = UnsafeRawPointer(close) - UnsafeRawPointer(base)
            if end > id { return begin..<end + 1 }
        }
        return nil
    }
}
