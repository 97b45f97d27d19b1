import Glibc
import PushmillLocalization

struct ContactNaming: ~Copyable {
    typealias Show = (_ name: Span<UInt8>, TextDirection) -> Void

    private static let opening: [UInt8] = Array("\u{2068}".utf8)
    private static let closing: [UInt8] = Array("\u{2069}".utf8)

    /// Nil in the last chance, which asks nobody.
    let book: (any ContactBook)?
    /// Whose contacts they are; empty where there is nobody.
    let owner: UnsafeBufferPointer<UInt8>
    let isolates: Bool
    private var hasFound = false
    private var hasMissed = false
    private(set) var failure: ContactsUnavailable?

    init(_ book: (any ContactBook)?, owner: UnsafeBufferPointer<UInt8>, isolates: Bool) {
        self.book = book
        self.owner = owner
        self.isolates = isolates
    }

    var result: StageResult {
        if failure != nil { return .failed("unavailable") }
        if hasMissed { return .word("miss") }
        return hasFound ? .ok : .skipped
    }

    /// Appends the text with a name in the place of each placeholder. Names are not looked at again: one that reads like
    /// a placeholder is a name.
    mutating func append(
        _ text: UnsafeBufferPointer<UInt8>, to output: inout FormatOutput, orElse fallback: (Show) -> Void
    ) {
        var direction = isolates ? Self.direction(of: text) : .none
        for part in ContactPlaceholders(text) {
            switch part {
            case .literal(let text): output.append(text)
            case .contact(let id): append(id, in: &direction, to: &output, orElse: fallback)
            }
        }
    }

    mutating func append(
        nameOf id: UnsafeBufferPointer<UInt8>, to output: inout FormatOutput, orElse fallback: (Show) -> Void
    ) {
        var direction = TextDirection.none
        append(id, in: &direction, to: &output, orElse: fallback)
    }

    /// Appends the name alone, or the text itself where nobody goes by it.
    mutating func append(nameIfKnown text: UnsafeBufferPointer<UInt8>, to output: inout FormatOutput) {
        var isKnown = false
        do throws(ContactsUnavailable) {
            isKnown = try find(text) { name, _ in name.withUnsafeBufferPointer { output.append($0) } }
        } catch {
            failure = error
        }
        if isKnown { hasFound = true } else { output.append(text) }
    }

    /// A text without letters of its own runs as its first name does.
    private mutating func append(
        _ id: UnsafeBufferPointer<UInt8>, in text: inout TextDirection, to output: inout FormatOutput,
        orElse fallback: (Show) -> Void
    ) {
        let (base, isolates) = (text, isolates)
        var direction = TextDirection.none
        var isFound = false
        // Two closures: one function that both calls take would be boxed.
        do throws(ContactsUnavailable) {
            isFound = try find(id) { name, found in
                Self.append(name, isIsolated: isolates && !found.agrees(with: base), to: &output)
                direction = found
            }
        } catch {
            failure = error
        }
        if isFound {
            hasFound = true
        } else {
            hasMissed = true
            fallback { name, found in
                Self.append(name, isIsolated: isolates && !found.agrees(with: base), to: &output)
                direction = found
            }
        }
        if text == .none { text = direction }
    }

    private static func append(_ name: Span<UInt8>, isIsolated: Bool, to output: inout FormatOutput) {
        if isIsolated { output.append(opening) }
        name.withUnsafeBufferPointer { output.append($0) }
        if isIsolated { output.append(closing) }
    }

    private func find(_ id: UnsafeBufferPointer<UInt8>, _ show: Show) throws(ContactsUnavailable) -> Bool {
        guard let book else { return false }
        let id = id.span.bytes
        if !owner.isEmpty, try book.find(id, of: owner.span.bytes, show) { return true }
        return try book.find(id, of: ContactDirectory.owner.utf8Span.span.bytes, show)
    }

    private static func direction(of text: UnsafeBufferPointer<UInt8>) -> TextDirection {
        var direction = TextDirection.none
        for case .literal(let part) in ContactPlaceholders(text) where direction == .none {
            direction = TextDirection(ofFirstLetterIn: part.span)
        }
        return direction
    }
}

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
