import Glibc
import PushmillLocalization
import PushmillPayload

/// The outcome of looking up the names of one message.
struct ContactNaming {
    /// What kind of text names are put into.
    enum Text { case placeholders, identifier, identifierOrText }

    /// The owner of the contacts; empty if there is none.
    let owner: UnsafeBufferPointer<UInt8>
    /// False for the last chance, which looks up no names.
    let asks: Bool
    var hasFound = false
    var hasMissed = false
    var failure: ContactsUnavailable?

    var result: StageResult {
        if failure != nil { return .failed("unavailable") }
        if hasMissed { return .word("miss") }
        return hasFound ? .ok : .skipped
    }
}

extension ContactStage {
    private static var opening: StaticString { "\u{2068}" }
    private static var closing: StaticString { "\u{2069}" }

    /// Appends the text of a node, with names in it.
    func appendText(
        of node: JSONNode, _ kind: ContactNaming.Text, _ content: NotificationContent, _ context: StageContext,
        _ naming: inout ContactNaming, to output: inout FormatOutput
    ) {
        _ = content.document.withText(of: node) { text in
            text.withUnsafeBufferPointer { text in
                switch kind {
                case .placeholders: appendWithNames(text, content, context, &naming, to: &output)
                case .identifier:
                    var direction = TextDirection.none
                    appendName(of: text, in: &direction, content, context, &naming, to: &output)
                case .identifierOrText: appendNameOrText(text, &naming, to: &output)
                }
            }
        }
    }

    /// Appends the text with a name in place of each placeholder. Names are not searched for placeholders in turn.
    private func appendWithNames(
        _ text: UnsafeBufferPointer<UInt8>, _ content: NotificationContent, _ context: StageContext,
        _ naming: inout ContactNaming, to output: inout FormatOutput
    ) {
        var direction = options.isolates ? Self.direction(of: text) : .none
        var parts = ContactPlaceholders(text)
        while !output.isFull, let part = parts.next() {
            switch part {
            case .literal(let text): output.append(startOf: text)
            case .contact(let id): appendName(of: id, in: &direction, content, context, &naming, to: &output)
            }
        }
    }

    /// Appends the contact's name, or the text itself if it identifies no contact.
    private func appendNameOrText(
        _ text: UnsafeBufferPointer<UInt8>, _ naming: inout ContactNaming, to output: inout FormatOutput
    ) {
        let isKnown = find(text, &naming) { name, _ in name.withUnsafeBufferPointer { output.append(startOf: $0) } }
        if isKnown { naming.hasFound = true } else { output.append(startOf: text) }
    }

    /// A text without letters of its own has the direction of its first name.
    private func appendName(
        of id: UnsafeBufferPointer<UInt8>, in text: inout TextDirection, _ content: NotificationContent,
        _ context: StageContext, _ naming: inout ContactNaming, to output: inout FormatOutput
    ) {
        let (base, isolates) = (text, options.isolates)
        var direction = TextDirection.none
        // Two closures, because one function passed to both calls would be boxed.
        let isFound = find(id, &naming) { name, found in
            Self.appendShown(name, isIsolated: isolates && !found.agrees(with: base), to: &output)
            direction = found
        }
        if isFound {
            naming.hasFound = true
        } else {
            naming.hasMissed = true
            withUnknown(content, context) { name, found in
                Self.appendShown(name, isIsolated: isolates && !found.agrees(with: base), to: &output)
                direction = found
            }
        }
        if text == .none { text = direction }
    }

    private static func appendShown(_ name: Span<UInt8>, isIsolated: Bool, to output: inout FormatOutput) {
        if isIsolated { output.append(opening) }
        name.withUnsafeBufferPointer { output.append(startOf: $0) }
        if isIsolated { output.append(closing) }
    }

    private func find(
        _ id: UnsafeBufferPointer<UInt8>, _ naming: inout ContactNaming,
        _ show: (Span<UInt8>, TextDirection) -> Void
    ) -> Bool {
        guard naming.asks else { return false }
        let (id, owner) = (id, naming.owner)
        do throws(ContactsUnavailable) {
            if !owner.isEmpty, try book.find(id.span.bytes, of: owner.span.bytes, show) { return true }
            return try book.find(id.span.bytes, of: ContactDirectory.owner.utf8Span.span.bytes, show)
        } catch {
            naming.failure = error
            return false
        }
    }

    private static func direction(of text: UnsafeBufferPointer<UInt8>) -> TextDirection {
        var direction = TextDirection.none
        var isolates = 0
        for case .literal(let part) in ContactPlaceholders(text) where direction == .none {
            direction = TextDirection(ofFirstLetterIn: part.span, inside: &isolates)
        }
        return direction
    }
}

/// The parts of a text: literals, and placeholders `{contact:ID}` whose identifier is not empty.
struct ContactPlaceholders: Sequence, IteratorProtocol {
    enum Part {
        case literal(UnsafeBufferPointer<UInt8>)
        case contact(id: UnsafeBufferPointer<UInt8>)
    }

    private static let opening: StaticString = "{contact:"

    private let text: UnsafeBufferPointer<UInt8>
    /// The start of what was not returned yet, and the range of the next placeholder in it.
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
        let end = placeholder?.lowerBound ?? text.count
        if at < end {
            defer { at = end }
            return .literal(part(at..<end))
        }
        guard let placeholder else { return nil }
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
