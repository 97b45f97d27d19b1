import Glibc
import PushmillPayload

/// Opens a ciphertext of any form that is allowed.
package struct Decryptor: Sendable {
    private let allowsJWE: Bool
    private let allowsOpenSSL: Bool
    private let allowsWebPush: Bool
    private let isRot13: Bool
    /// The uses of keys for nonce, ciphertext and tag in one; these forms look alike.
    private let combined: KeyUses
    let derivation: PassphraseDerivation
    /// A ciphertext that names a key is not asked.
    private let bindsKeys: Bool
    let derivedKeys = DerivedKeys()

    package enum Opened {
        /// In the scratch, good until that is used again; always UTF-8.
        case text(UnsafeMutableRawBufferPointer, isAuthenticated: Bool)
        /// A key must be derived first; then open again.
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

    /// True if opening can take a derivation.
    package var needsTime: Bool {
        if case .iterated = derivation { allowsOpenSSL } else { false }
    }

    /// It is known then, for as long as it is among the latest.
    package func derive(_ derivation: Derivation) async throws { _ = try await derivedKeys.derive(derivation) }

    /// Chooses a key where the ciphertext names none, and asks for a draft's parameters where it may need them. Sets
    /// that were replaced a short while ago get their turn where the one in force does not help.
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
        if isRot13 { return try turn(text, &scratch) }
        guard let start = text.baseAddress, !text.isEmpty else { throw .malformed }
        let plain: UnsafeMutableRawBufferPointer
        // With an encoding that is named, a text is no JWE, whatever it looks like.
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

    private func turn(_ text: UnsafeRawBufferPointer, _ scratch: inout DecryptScratch) throws(DecryptFailure) -> Opened
    {
        guard text.count <= DecryptScratch.plaintextLimit else { throw .tooLarge }
        scratch.buffer.reserve(text.count)
        let plain = scratch.buffer[0..<text.count]
        for index in text.indices { plain[index] = Rot13.turn(text[index]) }
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
            try derivation.derive(key.secret, salt: form.salt, into: derived, scratch)
        }
        return .text(try form.open(derived, &scratch), isAuthenticated: false)
    }

    /// Web push has a shape, or comes with a draft's parameters; of the other forms only the key says which it is.
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

    /// Nil where the message names a key of another form: then it only looks like web push.
    private func pushKey(_ ring: KeyRing, _ choose: KeyChoice) throws(DecryptFailure) -> DecryptionKey? {
        do throws(DecryptFailure) {
            return try choose(KeyNeed(.webPush), ring)
        } catch {
            guard error == .noKey, !combined.isEmpty else { throw error }
            return nil
        }
    }
}

/// The forms of ciphertext, by the names that a configuration allows them by.
package enum CiphertextFormat: String, CaseIterable, Sendable {
    case jwe
    case openSSL = "openssl"
    case aesGCM = "aes-gcm"
    case chaCha20 = "chacha20-poly1305"
    case webPush = "webpush"
    /// Has no shape to be recognised by, so it stands alone.
    case rot13
}

/// Nonce, ciphertext and tag, one after the other, as CryptoKit and others combine them.
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

/// The cipher of tutorials: letters change places with those 13 further on.
enum Rot13 {
    static func turn(_ byte: UInt8) -> UInt8 {
        switch byte | 0x20 {
        case UInt8(ascii: "a")...UInt8(ascii: "m"): byte + 13
        case UInt8(ascii: "n")...UInt8(ascii: "z"): byte - 13
        default: byte
        }
    }
}

/// Finds the key for a ciphertext that does not name one itself.
package typealias KeyChoice = (_ need: KeyNeed, _ ring: KeyRing) throws(DecryptFailure) -> DecryptionKey

/// Why a ciphertext was not shown. Padding and tag failures are one on purpose, and so is everything that is wrong with a
/// text that nothing authenticates: telling them apart would help an attacker who tries ciphertexts.
@usableFromInline
package enum DecryptFailure: Error, CaseIterable {
    /// No key of that name, or none for this form.
    case noKey
    /// Wrong key, or tampered with.
    case authentication
    case malformed
    /// Well formed, but not allowed here or not known.
    case unsupported
    case tooLarge
    case notText
    case notObject
    case protectedMember

    /// True where another key might do better.
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
