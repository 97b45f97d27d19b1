/// Opens a ciphertext of any form that is allowed.
struct Decryptor: Sendable {
    let forms: AllowedForms
    let derivation: PassphraseDerivation
    /// A ciphertext that names a key is not asked.
    private let bindsKeys: Bool
    private let derivedKeys = DerivedKeys()

    enum Opened {
        /// In the scratch, good until that is used again; always UTF-8.
        case text(UnsafeMutableRawBufferPointer, isAuthenticated: Bool)
        /// A key must be derived first; then open again with it.
        case underived(Derivation)
    }

    typealias DerivedKey = (identity: Derivation.Identity, key: SecretBytes)
    typealias DraftSource = () -> WebPushForm.Draft?

    init(_ formats: [CiphertextFormat], _ derivation: PassphraseDerivation, bindsKeys: Bool = false) {
        forms = AllowedForms(formats)
        self.bindsKeys = bindsKeys
        self.derivation = derivation
    }

    /// True if opening can take a derivation.
    var needsTime: Bool {
        if case .iterated = derivation { forms.openSSL } else { false }
    }

    func derive(_ derivation: Derivation) async throws -> DerivedKey {
        (derivation.identity, try await derivedKeys.derive(derivation))
    }

    /// Chooses a key where the ciphertext names none, and asks for a draft's parameters where it may need them. A set
    /// that was replaced a short while ago gets its turn where the one in force does not help.
    func open(
        _ text: UnsafeRawBufferPointer, as encoding: BinaryEncoding = .auto, _ scratch: inout DecryptScratch,
        _ ring: KeyRing, _ derived: [DerivedKey], choose: KeyChoice, draft: DraftSource
    ) throws(DecryptFailure) -> Opened {
        do throws(DecryptFailure) {
            return try openText(text, encoding, &scratch, ring, derived, choose, draft)
        } catch {
            guard error.mayBeOfTheKey, let former = ring.former, former.until > .now,
                let opened = try? openText(text, encoding, &scratch, former.ring, derived, choose, draft)
            else { throw error }
            return opened
        }
    }

    private func openText(
        _ text: UnsafeRawBufferPointer, _ encoding: BinaryEncoding, _ scratch: inout DecryptScratch, _ ring: KeyRing,
        _ derived: [DerivedKey], _ choose: KeyChoice, _ draft: DraftSource
    ) throws(DecryptFailure) -> Opened {
        guard text.count <= DecryptScratch.textLimit else { throw .tooLarge }
        let plain: UnsafeMutableRawBufferPointer
        switch try forms.recognise(text, as: encoding, in: &scratch) {
        case .rot13:
            guard text.count <= DecryptScratch.plaintextLimit else { throw .tooLarge }
            scratch.buffer.reserve(text.count)
            let plain = scratch.buffer[0..<text.count]
            Rot13.turn(text, into: plain)
            guard UTF8Scalar.isText(UnsafeRawBufferPointer(plain)) else { throw .authentication }
            return .text(plain, isAuthenticated: false)
        case .jwe:
            plain = try JWEForm.open(text, &scratch, ring, choose, mayNameKey: !bindsKeys)
        case .openSSL(let data):
            let form = try OpenSSLForm(data)
            let key = try choose(KeyNeed(.passphrase), ring)
            if case .iterated(let iterations) = derivation {
                let wanted = Derivation(passphrase: key, salt: form.salt, iterations: iterations)
                guard let key = find(wanted, derived) else { return .underived(wanted) }
                return .text(try form.open(key, &scratch), isAuthenticated: false)
            }
            return .text(try form.open(key.secret, derivation, &scratch), isAuthenticated: false)
        case .binary(let data):
            plain = try openBinary(data, &scratch, ring, choose, draft)
        }
        guard plain.count <= DecryptScratch.plaintextLimit else { throw .tooLarge }
        guard UTF8Scalar.isText(UnsafeRawBufferPointer(plain)) else { throw .notText }
        return .text(plain, isAuthenticated: true)
    }

    private func find(_ wanted: Derivation, _ derived: [DerivedKey]) -> SecretBytes? {
        derived.first { $0.identity == wanted.identity }?.key ?? derivedKeys.known(wanted)
    }

    /// Web push has a shape, or comes with a draft's parameters; of the other forms only the key says which it is.
    private func openBinary(
        _ data: UnsafeMutableRawBufferPointer, _ scratch: inout DecryptScratch, _ ring: KeyRing, _ choose: KeyChoice,
        _ draft: DraftSource
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        let isPushLike = WebPushForm.isLike(data)
        if forms.webPush {
            let draft = isPushLike ? nil : draft()
            if isPushLike || draft != nil, let key = try pushKey(ring, choose) {
                return try WebPushForm(key).open(data, draft, &scratch)
            }
        }
        guard !forms.combined.isEmpty else { throw isPushLike && !forms.webPush ? .unsupported : .malformed }
        guard data.count >= CombinedForm.shortest else { throw .malformed }
        return try CombinedForm.open(data, try choose(KeyNeed(forms.combined), ring), &scratch)
    }

    /// Nil where the message names a key of another form: then it only looks like web push.
    private func pushKey(_ ring: KeyRing, _ choose: KeyChoice) throws(DecryptFailure) -> DecryptionKey? {
        do throws(DecryptFailure) {
            return try choose(KeyNeed(.webPush), ring)
        } catch {
            guard error == .noKey, !forms.combined.isEmpty else { throw error }
            return nil
        }
    }
}
