import PushmillCiphers
import PushmillPayload

/// Where a plaintext goes.
extension DecryptOptions.Field {
    /// The most members of a merged object: each is searched for among the payload's.
    private static let maximumMembers = 256

    /// Puts the plaintext into the content and removes the ciphertext; changes nothing if it fails.
    func put(
        _ plaintext: UnsafeMutableRawBufferPointer, into content: inout NotificationContent,
        _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) {
        switch target {
        case .member(let pointer):
            let bytes = plaintext.bindMemory(to: UInt8.self)
            let text = hasEntities ? HTMLText.unescape(bytes) : bytes
            if let alertText = self.text {
                content.setDecrypted(alertText, to: text.span)
            } else {
                // A number or a string may be in the pointer's way.
                guard content.setDecrypted(text.span, at: pointer) else { throw .malformed }
            }
            if !isInPlace { removeSource(from: &content) }
        case .merge:
            try merge(plaintext, into: &content, &scratch)
        }
    }

    /// Removes the ciphertext. An array element becomes null: fields and the device rely on the indices of later ones.
    private func removeSource(from content: inout NotificationContent) {
        if let source = content.node(at: from), content.document.withName(of: source, { _ in true }) == nil {
            content.set(json: Array("null".utf8).span, at: from)
        } else {
            content.remove(from)
        }
    }

    private func merge(
        _ plaintext: UnsafeMutableRawBufferPointer, into content: inout NotificationContent,
        _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) {
        let object: JSONDocument
        do throws(PayloadError) {
            object = try scratch.read(plaintext)
        } catch {
            throw .notObject
        }
        guard object.kind(of: object.root) == .object else { throw .notObject }
        guard object.childCount(of: object.root) <= Self.maximumMembers else { throw .tooLarge }
        let savepoint = content.savepoint()
        // Removed first, because a merged member may take the ciphertext's place.
        removeSource(from: &content)
        do throws(DecryptFailure) {
            try object.forEachChild(of: object.root) { (member) throws(DecryptFailure) in
                try merge(member, of: object, into: &content)
            }
        } catch {
            content.rollback(to: savepoint)
            throw error
        }
    }

    private func merge(
        _ member: JSONNode, of object: JSONDocument, into content: inout NotificationContent
    ) throws(DecryptFailure) {
        guard !object.isNamed("aps", member) else { throw .protectedMember }
        let isListed = object.withName(of: member) { name in
            name.withUnsafeBytes { name in members.contains { $0.withUnsafeBytes(name.hasBytes) } }
        }
        // Encoders write null for a missing value.
        guard isListed == true, object.kind(of: member) != .null, object.isLast(member, of: object.root) else { return }
        if let text = AlertText.allCases.first(where: { object.isNamed($0.member, member) }) {
            let isSet: Void? = object.withText(of: member) { value in
                guard hasEntities else { return content.setDecrypted(text, to: value) }
                withUnsafeTemporaryAllocation(of: UInt8.self, capacity: value.count) { copy in
                    _ = value.withUnsafeBufferPointer { copy.initialize(from: $0) }
                    content.setDecrypted(text, to: HTMLText.unescape(copy).span)
                }
            }
            guard isSet != nil else { throw .malformed }
        } else {
            guard content.copyDecrypted(member, of: object) else { throw .malformed }
        }
    }
}

enum HTMLText {
    /// The most bytes of an entity without its ampersand, whether it is a name or a number.
    private static let longest = 10

    /// Replaces entities (`&amp;`, `&#39;`, `&#x27;`) with their characters; anything else stays. Works in place, since
    /// no entity is shorter than its character, and returns the bytes that are left.
    static func unescape(_ text: UnsafeMutableBufferPointer<UInt8>) -> UnsafeMutableBufferPointer<UInt8> {
        var count = 0
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "&"), let (scalar, end) = entity(text[(index + 1)...]) {
                for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                    text[count] = byte
                    count += 1
                }
                index = end
            } else {
                text[count] = text[index]
                count += 1
                index += 1
            }
        }
        return UnsafeMutableBufferPointer(rebasing: text[..<count])
    }

    /// The character of the entity that begins after an ampersand, and the index after its semicolon.
    private static func entity(
        _ text: Slice<UnsafeMutableBufferPointer<UInt8>>
    ) -> (scalar: Unicode.Scalar, end: Int)? {
        guard let end = text.prefix(longest).firstIndex(of: UInt8(ascii: ";")) else { return nil }
        let name = text[..<end]
        let scalar = name.first == UInt8(ascii: "#") ? numbered(name.dropFirst()) : named(name)
        return scalar.map { ($0, end + 1) }
    }

    private static func named(_ name: Slice<UnsafeMutableBufferPointer<UInt8>>) -> Unicode.Scalar? {
        let known = names.first { known, _ in
            name.elementsEqual(UnsafeBufferPointer(start: known.utf8Start, count: known.utf8CodeUnitCount))
        }
        return known?.scalar
    }

    /// Nil if it is not a number, and for U+0000.
    private static func numbered(_ digits: Slice<UnsafeMutableBufferPointer<UInt8>>) -> Unicode.Scalar? {
        let isHexadecimal = digits.first.map { $0 | 0x20 == UInt8(ascii: "x") } ?? false
        // A string this short needs no allocation.
        let text = String(decoding: isHexadecimal ? digits.dropFirst() : digits, as: UTF8.self)
        let code = text.hasPrefix("+") ? nil : UInt32(text, radix: isHexadecimal ? 16 : 10)
        return code.flatMap { $0 == 0 ? nil : Unicode.Scalar($0) }
    }

    private static let names: [(name: StaticString, scalar: Unicode.Scalar)] = [
        ("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'"), ("nbsp", "\u{A0}"), ("hellip", "…"),
        ("ndash", "–"), ("mdash", "—"), ("lsquo", "‘"), ("rsquo", "’"), ("ldquo", "“"), ("rdquo", "”"), ("laquo", "«"),
        ("raquo", "»"), ("bull", "•"), ("middot", "·"), ("copy", "©"), ("reg", "®"), ("trade", "™"), ("euro", "€"),
    ]
}
