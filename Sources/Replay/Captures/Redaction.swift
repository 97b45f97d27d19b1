package import PushmillPayload

/// Replaces what people wrote, their names and their tokens with stand-ins of the same shape and length. Within one
/// `Redaction` a word always has the same stand-in, so records stay related; a second one uses others. What only
/// programs read stays: names of members and, within `aps`, keys of texts, categories, sounds and the like.
package struct Redaction: Sendable {
    /// Headers whose values reveal nothing about a person.
    private static let openHeaders: Set<String> = [
        "locale", "content-type", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration",
        "pushmill-outcome", "pushmill-source", "pushmill-stages", "pushmill-attempt", "pushmill-counted",
        "ce_specversion", "ce_type", "ce_time", "ce_datacontenttype",
    ]
    /// Members that reveal nothing about a person: in `aps` if they are numbers; in `aps` always; and in its alert.
    private static let openNumbers: Set<String> = [
        "badge", "content-available", "dismissal-date", "mutable-content", "relevance-score", "stale-date", "timestamp",
    ]
    private static let openMembers: Set<String> = ["category", "event", "interruption-level", "sound"]
    private static let openAlertMembers: Set<String> = [
        "title-loc-key", "subtitle-loc-key", "loc-key", "action-loc-key", "launch-image",
    ]

    /// Attributes of a structured CloudEvent whose headers are open in binary mode.
    private static let openAttributes: Set<String> = ["specversion", "type", "time", "datacontenttype"]

    /// A payload with more values is not a notification, and is replaced as a whole.
    private static let mostEdits = 10_000

    private let standIns = StandIns()

    package init() {}

    package func redacted(_ record: RecordEnvelope) -> RecordEnvelope {
        var record = record
        record.key = record.key.map(standIns.bytes)
        for index in record.headers.indices {
            let name = String(decoding: record.headers[index].name, as: UTF8.self)
            if Self.openHeaders.contains(name) || name.hasPrefix("pushmill.error.") { continue }
            record.headers[index].value = record.headers[index].value.map(standIns.bytes)
        }
        record.payload = record.payload.map { payload($0, isEvent: record.isStructured) }
        return record
    }

    private func payload(_ bytes: [UInt8], isEvent: Bool) -> [UInt8] {
        guard let document = try? JSONDocument(bytes: bytes) else { return standIns.bytes(bytes) }
        var found: [Personal] = []
        collect(document.root, [], document, isEvent: isEvent, &found)
        guard found.count <= Self.mostEdits else { return standIns.bytes(bytes) }
        var redacted: [UInt8] = []
        var end = 0
        for (node, isEncoded) in found {
            let next = document.end(of: node)
            let start = next - (document.withSpelling(of: node) { $0.count } ?? 0)
            redacted += bytes[end..<start] + standIn(for: node, bytes[start..<next], isEncoded, document)
            end = next
        }
        return redacted + bytes[end...]
    }

    /// A value of a payload to be replaced; `isEncoded`: it is a payload itself, in base64.
    private typealias Personal = (node: JSONNode, isEncoded: Bool)

    /// Recurses as deep as the document, which is bounded. `names` lead to the node; an array element's name is empty.
    private func collect(
        _ node: JSONNode, _ names: [String], _ document: JSONDocument, isEvent: Bool, _ found: inout [Personal]
    ) {
        switch document.kind(of: node) {
        case .object, .array:
            document.forEachChild(of: node) { child in
                if found.count > Self.mostEdits { return }
                let name = document.withName(of: child) { name in
                    name.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
                }
                collect(child, names + [name ?? ""], document, isEvent: isEvent, &found)
            }
        case .string, .number:
            guard Self.isPersonal(names, isNumber: document.kind(of: node) == .number, isEvent: isEvent) else { return }
            found.append((node, isEvent && names == ["data_base64"]))
        case .true, .false, .null: break
        }
    }

    private func standIn(
        for node: JSONNode, _ spelling: ArraySlice<UInt8>, _ isEncoded: Bool, _ document: JSONDocument
    ) -> [UInt8] {
        guard let text = document.string(of: node) else {
            return Array(standIns.number(String(decoding: spelling, as: UTF8.self)).utf8)
        }
        guard isEncoded, let data = document.bytes(of: node, isEncoded: true) else {
            return Self.spelled(standIns.text(text), like: spelling)
        }
        var json = [UInt8(ascii: "\"")]
        payload(data, isEvent: false).withUnsafeBytes { Base64.encode($0, into: &json) }
        return json + [UInt8(ascii: "\"")]
    }

    /// In quotes, with escapes where `spelling` has them: a payload's length decides whether it is too large.
    private static func spelled(_ standIn: String, like spelling: ArraySlice<UInt8>) -> [UInt8] {
        var rest = spelling.dropFirst()
        var json = [UInt8(ascii: "\"")]
        for scalar in standIn.unicodeScalars {
            var next = Array(scalar.utf8)
            if rest.starts(with: "\\u".utf8) {
                next = scalar.utf16.flatMap { "\\u\(String($0, radix: 16).aligned(to: 4, by: "0"))".utf8 }
            } else if rest.first == UInt8(ascii: "\\") {
                next = Array(rest.prefix(2))
            }
            json += next
            rest = rest.dropFirst(next.count)
        }
        return json + [UInt8(ascii: "\"")]
    }

    private static func isPersonal(_ names: [String], isNumber: Bool, isEvent: Bool) -> Bool {
        if isEvent, names.count == 1, openAttributes.contains(names[0]) { return false }
        let names = isEvent && names.first == "data" ? names.dropFirst() : names[...]
        guard names.first == "aps" else { return true }
        let rest = Array(names.dropFirst())
        guard let member = rest.first else { return true }
        if member == "alert" { return rest.count == 1 || !openAlertMembers.contains(rest[1]) }
        return !openMembers.contains(member) && !(isNumber && openNumbers.contains(member))
    }
}

/// Stand-ins for words. Without the random key, nobody can find out names or phone numbers by trying candidates until
/// their stand-ins match.
private struct StandIns {
    private let key = UInt64.random(in: .min ... .max)

    func bytes(_ bytes: [UInt8]) -> [UInt8] {
        guard (try? UTF8Span(validating: bytes.span)) != nil else {
            var random = Letters(bytes, key)
            return bytes.map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }
        return Array(text(String(decoding: bytes, as: UTF8.self)).utf8)
    }

    /// Punctuation and spaces stay in place, and so does the word that marks a contact.
    func text(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        var word: [Unicode.Scalar] = []
        func flush() {
            result.append(contentsOf: standIn(word, isMark: result.last == "{"))
            word.removeAll()
        }
        for scalar in text.unicodeScalars {
            let properties = scalar.properties
            // In ASCII, digits, `#` and `*` count as emoji too.
            let isPicture = !scalar.isASCII && (properties.isEmoji || properties.generalCategory == .otherSymbol)
            if properties.isAlphabetic || properties.numericType != nil || isPicture {
                word.append(scalar)
            } else {
                flush()
                result.append(scalar)
            }
        }
        flush()
        return String(result)
    }

    /// A number of the same length; its exponent stays.
    func number(_ spelling: String) -> String {
        let mantissa = spelling.prefix { $0 != "e" && $0 != "E" }
        var text = Array(text(String(mantissa)))
        // A number of several digits does not begin with 0.
        if let first = text.firstIndex(where: \.isNumber), text[first] == "0", spelling.count > 1 { text[first] = "1" }
        return String(text) + spelling.dropFirst(mantissa.count)
    }

    private func standIn(_ word: [Unicode.Scalar], isMark: Bool) -> [Unicode.Scalar] {
        if isMark, word.elementsEqual("contact".unicodeScalars) { return word }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: word)
        var random = Letters(Array(String(text).utf8), key)
        return word.map { Self.replacement(of: $0, random.next()) }
    }

    /// Of the same kind, with the same number of bytes.
    private static func replacement(of scalar: Unicode.Scalar, _ random: UInt32) -> Unicode.Scalar {
        for range in ranges where range.contains(scalar.value) {
            return Unicode.Scalar(range.lowerBound + random % UInt32(range.count)) ?? scalar
        }
        switch scalar.utf8.count {
        case 2: return "é"
        case 3: return "字"
        default: return "𝐚"
        }
    }

    /// Ranges without gaps: digits, Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari, kana, Hangul, Han.
    private static let ranges: [ClosedRange<UInt32>] = [
        0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0xC0...0xD6, 0xD8...0xF6, 0x391...0x3A1, 0x3B1...0x3C9, 0x410...0x42F,
        0x430...0x44F, 0x5D0...0x5EA, 0x628...0x63A, 0x641...0x64A, 0x905...0x939, 0x3041...0x3096, 0x30A1...0x30FA,
        0xAC00...0xD7A3, 0x4E00...0x9FA5,
    ]

    /// A keyed hash, SipHash, then a step of xorshift for each letter.
    private struct Letters {
        private var state: UInt64

        init(_ bytes: [UInt8], _ key: UInt64) {
            var hasher = Hasher()
            hasher.combine(key)
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
            state = UInt64(bitPattern: Int64(hasher.finalize())) | 1
        }

        mutating func next() -> UInt32 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt32(truncatingIfNeeded: state >> 24)
        }
    }
}
