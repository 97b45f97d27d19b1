import Glibc
import PushmillPayload

/// Decrypts a ciphertext of any allowed form.
package struct Decryptor: Sendable {
    private let allowsJWE: Bool
    private let allowsOpenSSL: Bool
    private let allowsWebPush: Bool
    private let isRot13: Bool
    /// The key uses of the allowed forms that combine nonce, ciphertext and tag; these forms look alike.
    private let combined: KeyUses
    let derivation: PassphraseDerivation
    /// A key name in the ciphertext is ignored.
    private let bindsKeys: Bool
    let derivedKeys = DerivedKeys()

    package enum Opened {
        /// In the scratch, valid until its next use; always UTF-8.
        case text(UnsafeMutableRawBufferPointer, isAuthenticated: Bool)
        /// A key must be derived first; then call `open` again.
        case underived(Derivation)
    }

    package typealias DraftSource = () -> WebPushForm.Draft?

    package init(_ formats: [CiphertextFormat], _ derivation: PassphraseDerivation, bindsKeys: Bool = false) {
        allowsJWE = formats.contains(.jwe)
        allowsOpenSSL = formats.contains(.openSSL)
        allowsWebPush = formats.contains(.webPush)
        isRot13 = formats.contains(.rot13)
        combined = KeyUses(
            (formats.contains(.aesGCM) ? [.gcm128, .gcm256] : []) + (formats.contains(.chaCha20) ? [.chacha20] : []))
        self.bindsKeys = bindsKeys
        self.derivation = derivation
    }

    /// True if opening may need a slow key derivation.
    package var needsTime: Bool {
        if case .iterated = derivation { allowsOpenSSL } else { false }
    }

    /// Derives the key and caches it until newer ones evict it.
    package func derive(_ derivation: Derivation, on threads: any TaskExecutor) async throws {
        _ = try await derivedKeys.derive(derivation, on: threads)
    }

    /// Calls `choose` if the ciphertext names no key, and `draft` if a draft's parameters may be needed. If the ring in
    /// use has no key that works, tries the recently replaced rings.
    package func open(
        _ text: UnsafeRawBufferPointer, as encoding: BinaryEncoding = .auto, _ scratch: inout DecryptScratch,
        _ ring: KeyRing, choose: KeyChoice, draft: DraftSource
    ) throws(DecryptFailure) -> Opened {
        do throws(DecryptFailure) {
            return try openText(text, encoding, &scratch, ring, choose, draft)
        } catch {
            guard error.mayBeOfTheKey else { throw error }
            for former in ring.formers where former.until > .now {
                if let opened = try? openText(text, encoding, &scratch, former.ring, choose, draft) { return opened }
            }
            throw error
        }
    }

    private func openText(
        _ text: UnsafeRawBufferPointer, _ encoding: BinaryEncoding, _ scratch: inout DecryptScratch, _ ring: KeyRing,
        _ choose: KeyChoice, _ draft: DraftSource
    ) throws(DecryptFailure) -> Opened {
        guard text.count <= DecryptScratch.textLimit else { throw .tooLarge }
        if isRot13 { return try swap(text, &scratch) }
        guard let start = text.baseAddress, !text.isEmpty else { throw .malformed }
        let plain: UnsafeMutableRawBufferPointer
        // If an encoding is named, the text is not a JWE, whatever it looks like.
        if encoding == .auto, let dot = memchr(start, Int32(UInt8(ascii: ".")), text.count) {
            guard allowsJWE else { throw text.count { $0 == UInt8(ascii: ".") } == 4 ? .unsupported : .malformed }
            plain = try JWEForm.open(
                text, dot: UnsafeRawPointer(dot) - start, &scratch, ring, choose, mayNameKey: !bindsKeys)
        } else {
            scratch.buffer.reserve(text.count)
            let count = try BinaryText.decode(text, as: encoding, into: scratch.buffer.base)
            let data = scratch.buffer[0..<count]
            if OpenSSLForm.isLike(data) { return try openSSL(data, &scratch, ring, choose) }
            plain = try openBinary(data, &scratch, ring, choose, draft)
        }
        guard plain.count <= DecryptScratch.plaintextLimit else { throw .tooLarge }
        guard UTF8Scalar.isText(UnsafeRawBufferPointer(plain)) else { throw .notText }
        return .text(plain, isAuthenticated: true)
    }

    private func swap(_ text: UnsafeRawBufferPointer, _ scratch: inout DecryptScratch) throws(DecryptFailure) -> Opened
    {
        guard text.count <= DecryptScratch.plaintextLimit else { throw .tooLarge }
        scratch.buffer.reserve(text.count)
        let plain = scratch.buffer[0..<text.count]
        for index in text.indices { plain[index] = Rot13.swap(text[index]) }
        guard UTF8Scalar.isText(UnsafeRawBufferPointer(plain)) else { throw .authentication }
        return .text(plain, isAuthenticated: false)
    }

    private func openSSL(
        _ data: UnsafeMutableRawBufferPointer, _ scratch: inout DecryptScratch, _ ring: KeyRing, _ choose: KeyChoice
    ) throws(DecryptFailure) -> Opened {
        guard allowsOpenSSL else { throw .unsupported }
        let form = try OpenSSLForm(data)
        let key = try choose(KeyNeed(.passphrase), ring)
        let derived = scratch.secrets[.contentKey]
        if case .iterated(let iterations) = derivation {
            let wanted = Derivation(passphrase: key, salt: form.salt, iterations: iterations)
            guard let known = derivedKeys.known(wanted) else { return .underived(wanted) }
            withExtendedLifetime(known) {
                UnsafeMutableRawBufferPointer(start: derived, count: known.count).copyMemory(from: known.bytes)
            }
        } else {
            try derivation.derive(key.secret, salt: form.salt, into: derived)
        }
        return .text(try form.open(derived, &scratch), isAuthenticated: false)
    }

    /// Web push is known by its shape or by a draft's parameters; the other forms only by the use of the key.
    private func openBinary(
        _ data: UnsafeMutableRawBufferPointer, _ scratch: inout DecryptScratch, _ ring: KeyRing, _ choose: KeyChoice,
        _ draft: DraftSource
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        let isPushLike = WebPushForm.isLike(data)
        if allowsWebPush {
            let draft = isPushLike ? nil : draft()
            if isPushLike || draft != nil, let key = try pushKey(ring, choose) {
                return try WebPushForm(key).open(data, draft, &scratch)
            }
        }
        guard !combined.isEmpty else { throw isPushLike && !allowsWebPush ? .unsupported : .malformed }
        guard data.count >= CombinedForm.shortest else { throw .malformed }
        return try CombinedForm.open(data, try choose(KeyNeed(combined), ring), &scratch)
    }

    /// Nil if the message names a key of another form, and so only looks like web push.
    private func pushKey(_ ring: KeyRing, _ choose: KeyChoice) throws(DecryptFailure) -> DecryptionKey? {
        do throws(DecryptFailure) {
            return try choose(KeyNeed(.webPush), ring)
        } catch {
            guard error == .noKey, !combined.isEmpty else { throw error }
            return nil
        }
    }
}

/// The forms of ciphertext, by their names in the configuration.
package enum CiphertextFormat: String, CaseIterable, Sendable {
    case jwe
    case openSSL = "openssl"
    case aesGCM = "aes-gcm"
    case chaCha20 = "chacha20-poly1305"
    case webPush = "webpush"
    /// Has no recognizable shape, so it cannot be combined with other forms.
    case rot13
}

/// Nonce, ciphertext and tag in a row, as CryptoKit and others combine them.
enum CombinedForm {
    static let shortest = Cipher.nonceCount + Cipher.tagCount

    static func cipher(_ use: KeyUse) throws(DecryptFailure) -> Cipher {
        switch use {
        case .gcm128: .aes128GCM
        case .gcm256: .aes256GCM
        case .chacha20: .chacha20Poly1305
        default: throw .noKey
        }
    }

    /// Decrypts in place.
    static func open(
        _ data: UnsafeMutableRawBufferPointer, _ key: DecryptionKey, _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        guard data.count >= shortest, let start = data.baseAddress else { throw .malformed }
        let cipher = try cipher(key.use)
        let end = data.count - Cipher.tagCount
        let text = UnsafeMutableRawBufferPointer(rebasing: data[Cipher.nonceCount..<end])
        try withExtendedLifetime(key) { () throws(DecryptFailure) in
            try scratch.ciphers[cipher, key.cipherKey].open(
                cipher, key.cipherKey, nonce: start, text, tag: start + end)
        }
        return text
    }
}

/// The cipher of tutorials: swaps each letter with the one 13 places further on.
enum Rot13 {
    static func swap(_ byte: UInt8) -> UInt8 {
        switch byte | 0x20 {
        case UInt8(ascii: "a")...UInt8(ascii: "m"): byte + 13
        case UInt8(ascii: "n")...UInt8(ascii: "z"): byte - 13
        default: byte
        }
    }
}

/// Finds the key for a ciphertext that names none itself.
package typealias KeyChoice = (_ need: KeyNeed, _ ring: KeyRing) throws(DecryptFailure) -> DecryptionKey

/// Why a ciphertext was rejected. Padding and tag failures are one case on purpose, as are all faults of a text that
/// nothing authenticates: the difference would help an attacker who tries ciphertexts.
@usableFromInline
package enum DecryptFailure: Error, CaseIterable {
    /// No key of that name, or none for this form.
    case noKey
    /// Wrong key, or the ciphertext was tampered with.
    case authentication
    case malformed
    /// Well formed, but unknown or not allowed by the configuration.
    case unsupported
    case tooLarge
    case notText
    case notObject
    case protectedMember

    /// True if another key might succeed.
    var mayBeOfTheKey: Bool { self == .noKey || self == .authentication }

    package var reason: StaticString {
        switch self {
        case .noKey: "no-key"
        case .authentication: "authentication"
        case .malformed: "malformed"
        case .unsupported: "unsupported"
        case .tooLarge: "too-large"
        case .notText: "not-text"
        case .notObject: "not-object"
        case .protectedMember: "protected-member"
        }
    }
}
