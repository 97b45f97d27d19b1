import CPushmillOpenSSL
import PushmillPayload

/// Makes ciphertexts, to compare with what a producer sends.
package struct Sealer {
    /// The options that a form leaves open.
    package struct Choices: Sendable {
        package var derivation = PassphraseDerivation.sha256
        /// A JWE's `alg`, for keys that serve several; nil for the key's own.
        package var algorithm: String?
        /// A JWE's `enc`; nil for the strongest that goes with the key.
        package var encryption: String?

        package init() {}

        /// True if the key can serve the choices for a JWE. Unknown names are accepted here and reported by `seal`.
        func suit(_ key: DecryptionKey) -> Bool {
            if let use = algorithm.flatMap(JWEAlgorithm.init)?.use, use != key.use { return false }
            let chosen = encryption.flatMap(JWEEncryption.init(rawValue:))
            return key.use != .direct || chosen == nil || key.secret.count == chosen?.keyCount
        }
    }

    /// The names for a JWE's `alg` and `enc`.
    package static let algorithms = JWEAlgorithm.named.map(\.key)
    package static let encryptions = JWEEncryption.allCases.map(\.rawValue)
    /// The longest text that the decryption stage accepts, in bytes.
    package static let textLimit = DecryptScratch.plaintextLimit

    let context: SealingContext
    let choices: Choices

    package init(_ choices: Choices = Choices()) throws(DecryptFailure) {
        context = try SealingContext()
        self.choices = choices
    }

    /// Uses the ring's first key that serves the form and the choices; with `keyName`, the first of that name.
    package func seal(
        _ text: [UInt8], as form: SealingForm, _ ring: KeyRing, keyName: String? = nil
    ) throws(DecryptFailure) -> SealedText {
        guard form != .rot13 else { return rot13(text) }
        let key = ring.keys.first { key in
            form.keyUses.contains(key.use) && (keyName == nil || key.name == keyName)
                && (form != .jwe || choices.suit(key))
        }
        guard let key else { throw .noKey }
        switch form {
        case .jwe: return try jwe(text, key)
        case .openSSL: return try openSSL(text, key)
        case .aesGCM, .chaCha20: return try combined(text, key)
        case .webPush: return try webPush(text, key, isDraft: false)
        case .webPushDraft: return try webPush(text, key, isDraft: true)
        case .rot13: return rot13(text)
        }
    }

    private func rot13(_ text: [UInt8]) -> SealedText {
        SealedText(String(decoding: text.map(Rot13.swap), as: UTF8.self))
    }

    private func combined(_ text: [UInt8], _ key: DecryptionKey) throws(DecryptFailure) -> SealedText {
        let nonce = try context.random(Cipher.nonceCount)
        let sealed = try context.seal(
            CombinedForm.cipher(key.use), key: Array(key.secret.bytes), nonce: nonce, text)
        return SealedText(nonce + sealed.text + sealed.tag)
    }

    private func openSSL(_ text: [UInt8], _ key: DecryptionKey) throws(DecryptFailure) -> SealedText {
        let salt = try context.random(PassphraseDerivation.saltCount)
        let number = salt.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        let room = context.scratch.secrets[.contentKey]
        try choices.derivation.derive(key.secret, salt: number, into: room)
        let derived = Array(UnsafeRawBufferPointer(start: room, count: PassphraseDerivation.count))
        let blocks = try context.encrypt(
            Cipher.aes256CBC.algorithm, key: Array(derived[..<PassphraseDerivation.keyCount]),
            nonce: Array(derived[PassphraseDerivation.keyCount...]), text)
        return SealedText(Array("Salted__".utf8) + salt + blocks)
    }

    private func webPush(_ text: [UInt8], _ key: DecryptionKey, isDraft: Bool) throws(DecryptFailure) -> SealedText {
        guard let receiver = key.pair else { throw .noKey }
        let pair = try EllipticKey.generate().key
        let salt = try context.random(WebPushForm.saltCount)
        try WebPushAgreement.derive(
            pair, with: receiver.point, isReceiver: false, key.secret, salt, isDraft: isDraft, &context.scratch)
        let contentKey = UnsafeRawBufferPointer(start: context.scratch.secrets[.contentKey], count: 16)
        let nonce = UnsafeRawBufferPointer(start: context.scratch.secrets[.nonce], count: Cipher.nonceCount)
        let (content, tag) = try context.seal(
            .aes128GCM, key: Array(contentKey), nonce: Array(nonce), isDraft ? [0, 0] + text : text + [2])
        if isDraft {
            var sealed = SealedText(content + tag)
            sealed.draft = (Base64.urlText(pair.point), Base64.urlText(salt))
            return sealed
        }
        // Receivers expect records of at least 4,096 bytes.
        let size = withUnsafeBytes(of: UInt32(clamping: max(4096, content.count + tag.count)).bigEndian) { Array($0) }
        return SealedText(salt + size + [UInt8(EllipticKey.pointCount)] + pair.point + content + tag)
    }
}

/// The forms in which samples are made.
package enum SealingForm: String, CaseIterable, Sendable {
    case jwe
    case openSSL = "openssl"
    case aesGCM = "aes-gcm"
    case chaCha20 = "chacha20-poly1305"
    case webPush = "webpush"
    /// The draft that preceded the RFC.
    case webPushDraft = "webpush-aesgcm"
    case rot13

    /// The key uses that serve the form, the usual one first.
    package var keyUses: [KeyUse] {
        switch self {
        case .jwe: [.direct, .wrap128, .wrap256, .gcmWrap256, .agreement]
        case .openSSL: [.passphrase]
        case .aesGCM: [.gcm256, .gcm128]
        case .chaCha20: [.chacha20]
        case .webPush, .webPushDraft: [.webPush]
        case .rot13: []
        }
    }
}

/// A ciphertext in the form that a producer sends.
package struct SealedText: Sendable {
    package let text: String
    /// The sender's public key and the salt, which the draft of web push sends beside the ciphertext.
    package var draft: (point: String, salt: String)?

    init(_ text: String) { self.text = text }

    /// Encodes the bytes in base64.
    init(_ bytes: [UInt8]) {
        var text: [UInt8] = []
        bytes.withUnsafeBytes { Base64.encode($0, into: &text) }
        self.text = String(decoding: text, as: UTF8.self)
    }
}

/// Encryption for samples and tests: works on arrays and is not tuned for speed.
final class SealingContext {
    var scratch: DecryptScratch
    private let context: OpaquePointer

    init() throws(DecryptFailure) {
        scratch = try DecryptScratch()
        guard let context = EVP_CIPHER_CTX_new() else { throw .unsupported }
        self.context = context
        EVP_CIPHER_CTX_set_flags(context, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW)
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    func random(_ count: Int) throws(DecryptFailure) -> [UInt8] {
        withExtendedLifetime(try SecretBytes.random(count)) { Array($0.bytes) }
    }

    func seal(
        _ cipher: Cipher, key: [UInt8], nonce: [UInt8], additional: [UInt8] = [], _ text: [UInt8]
    ) throws(DecryptFailure) -> (text: [UInt8], tag: [UInt8]) {
        let sealed = try encrypt(cipher.algorithm, key: key, nonce: nonce, additional: additional, text)
        var tag = [UInt8](repeating: 0, count: Cipher.tagCount)
        try check(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag))
        return (sealed, tag)
    }

    func wrap(_ cipher: Cipher, key: [UInt8], _ content: [UInt8]) throws(DecryptFailure) -> [UInt8] {
        let algorithm = EVP_CIPHER_fetch(nil, "AES-\(8 * cipher.keyCount)-WRAP", nil)
        defer { EVP_CIPHER_free(algorithm) }
        // RFC 3394, 2.2.3.1.
        return try encrypt(algorithm, key: key, nonce: [UInt8](repeating: 0xA6, count: 8), content)
    }

    /// Adds padding if the mode has it.
    func encrypt(
        _ algorithm: OpaquePointer?, key: [UInt8], nonce: [UInt8], additional: [UInt8] = [], _ text: [UInt8]
    ) throws(DecryptFailure) -> [UInt8] {
        guard let algorithm else { throw .unsupported }
        guard key.count == EVP_CIPHER_get_key_length(algorithm) else { throw .noKey }
        try check(EVP_CipherInit_ex2(context, algorithm, key, nonce, 1, nil))
        var output = [UInt8](repeating: 0, count: text.count + Cipher.blockCount)
        var end = [UInt8](repeating: 0, count: Cipher.blockCount)
        var (count, rest): (Int32, Int32) = (0, 0)
        if !additional.isEmpty {
            try check(EVP_CipherUpdate(context, nil, &count, additional, Int32(additional.count)))
            count = 0
        }
        if !text.isEmpty { try check(EVP_CipherUpdate(context, &output, &count, text, Int32(text.count))) }
        try check(EVP_CipherFinal_ex(context, &end, &rest))
        return Array(output.prefix(Int(count)) + end.prefix(Int(rest)))
    }

    func code(_ hash: KeyedDigest, key: [UInt8], _ parts: [UInt8]...) throws(DecryptFailure) -> [UInt8] {
        try key.span.withUnsafeBytes { (key) throws(DecryptFailure) in try hash.begin(key) }
        for part in parts { try hash.add(part) }
        let output = scratch.secrets[.code]
        try hash.end(into: output)
        return Array(UnsafeRawBufferPointer(start: output, count: hash.count))
    }
}

extension Decryptor {
    /// Decrypts a single ciphertext as the stage does, to find a producer's faults. Returns UTF-8. A JWE's own key name
    /// takes precedence over `keyName`; without either, the first key that fits is used. May take as long as a key
    /// derivation.
    package func open(
        _ text: [UInt8], as encoding: BinaryEncoding, _ ring: KeyRing, keyName: String?, draft: WebPushForm.Draft?
    ) throws(DecryptFailure) -> [UInt8] {
        let name = keyName.map { Array($0.utf8) }
        var scratch = try DecryptScratch()
        while true {
            let opened = try text.span.withUnsafeBytes { (text) throws(DecryptFailure) in
                try open(text, as: encoding, &scratch, ring) { (need, ring) throws(DecryptFailure) in
                    let key = name.map { $0.withUnsafeBytes { ring.key(named: $0, for: need) } } ?? ring.key(for: need)
                    guard let key else { throw .noKey }
                    return key
                } draft: {
                    draft
                }
            }
            switch opened {
            case .text(let plaintext, _): return Array(plaintext)
            case .underived(let derivation): _ = try derivedKeys.compute(derivation)
            }
        }
    }
}
