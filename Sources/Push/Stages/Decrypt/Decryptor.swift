/// Opens a ciphertext of any form that is allowed.
struct Decryptor: Sendable {
    let forms: AllowedForms
    let derivation: PassphraseDerivation
    let derivedKeys: DerivedKeys

    enum Opened {
        /// In the scratch, good until that is used again; always UTF-8.
        case text(UnsafeMutableRawBufferPointer)
        /// A key must be derived first; then open again with it.
        case underived(Derivation)
    }

    /// What there is beside the ciphertext.
    struct Surroundings {
        var draft: WebPushForm.Draft?
        var derived: [(identity: Derivation.Identity, key: SecretBytes)] = []
    }

    /// A set that was replaced a short while ago gets its turn where the one in force does not help.
    func open(
        _ text: UnsafeRawBufferPointer, _ surroundings: Surroundings, _ scratch: DecryptScratch, _ ring: KeyRing,
        _ choose: KeyChoice
    ) throws(DecryptFailure) -> Opened {
        do throws(DecryptFailure) {
            return try openText(text, surroundings, scratch, ring, choose)
        } catch {
            guard error.mayBeOfTheKey, let former = ring.former, former.until > .now,
                let opened = try? openText(text, surroundings, scratch, former.ring, choose)
            else { throw error }
            return opened
        }
    }

    private func openText(
        _ text: UnsafeRawBufferPointer, _ surroundings: Surroundings, _ scratch: DecryptScratch, _ ring: KeyRing,
        _ choose: KeyChoice
    ) throws(DecryptFailure) -> Opened {
        guard text.count <= DecryptScratch.textLimit else { throw .tooLarge }
        let plain: UnsafeMutableRawBufferPointer
        switch try forms.recognise(text, in: scratch) {
        case .rot13:
            scratch.buffer.reserve(text.count)
            plain = scratch.buffer[0..<text.count]
            Rot13.turn(text, into: plain)
        case .jwe:
            plain = try JWEForm.open(text, scratch, ring, choose)
        case .openSSL(let data):
            let form = try OpenSSLForm(data)
            let key = try choose(KeyNeed(.passphrase), ring)
            if case .iterated(let iterations) = derivation {
                let wanted = Derivation(passphrase: key, salt: form.salt, iterations: iterations)
                guard let derived = derived(wanted, surroundings) else { return .underived(wanted) }
                plain = try form.open(derived, scratch)
            } else {
                plain = try form.open(key.secret, derivation, scratch)
            }
        case .binary(let data):
            plain = try openBinary(data, surroundings.draft, scratch, ring, choose)
        }
        guard plain.count <= DecryptScratch.plaintextLimit else { throw .tooLarge }
        guard UTF8Scalar.isText(UnsafeRawBufferPointer(plain)) else { throw .notText }
        return .text(plain)
    }

    private func derived(_ wanted: Derivation, _ surroundings: Surroundings) -> SecretBytes? {
        surroundings.derived.first { $0.identity == wanted.identity }?.key ?? derivedKeys.known(wanted)
    }

    /// Web push has a shape, or comes with a draft's parameters; of the other forms only the key says which it is.
    private func openBinary(
        _ data: UnsafeMutableRawBufferPointer, _ draft: WebPushForm.Draft?, _ scratch: DecryptScratch,
        _ ring: KeyRing, _ choose: KeyChoice
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        if forms.webPush, let draft {
            return try WebPushForm(try choose(KeyNeed(.webPush), ring), scratch).open(data, draft)
        }
        let isPushLike = WebPushForm.isLike(data)
        if forms.webPush, isPushLike {
            do throws(DecryptFailure) {
                return try WebPushForm(try choose(KeyNeed(.webPush), ring), scratch).open(data)
            } catch .noKey where !forms.combined.isEmpty {
                // Named is another key: then it only looks like web push.
            }
        }
        guard !forms.combined.isEmpty else { throw isPushLike && !forms.webPush ? .unsupported : .malformed }
        guard data.count >= CombinedForm.shortest else { throw .malformed }
        return try CombinedForm.open(data, try choose(KeyNeed(forms.combined), ring), scratch)
    }
}
