/// Opens a ciphertext by itself, as the stage would in a message: to see what is wrong with a producer's.
package struct Opener: Sendable {
    /// What web push's older form sends beside the ciphertext.
    package struct Draft: Sendable {
        let form: WebPushForm.Draft

        /// Nil if they are no point of the curve and no salt, as `values` has them written.
        package init?(point: String, salt: String, as values: (point: DraftValue, salt: DraftValue)) {
            let point = Array(point.utf8).withUnsafeBufferPointer(values.point.bytes)
            let salt = Array(salt.utf8).withUnsafeBufferPointer(values.salt.bytes)
            guard let point, let salt, let form = WebPushForm.Draft(point: point, salt: salt) else { return nil }
            self.form = form
        }
    }

    private let decryptor: Decryptor

    package init(_ formats: [CiphertextFormat], _ derivation: PassphraseDerivation) {
        decryptor = Decryptor(formats, derivation)
    }

    /// Gives the plaintext, in UTF-8. A JWE's own key name counts before `keyName`; without any it is the first key that
    /// fits. May take as long as a derivation does.
    package func open(
        _ text: [UInt8], as encoding: BinaryEncoding = .auto, _ ring: KeyRing, keyName: String? = nil,
        draft: Draft? = nil
    ) throws(DecryptFailure) -> [UInt8] {
        let name = keyName.map { Array($0.utf8) }
        var scratch = try DecryptScratch()
        var derived: [Decryptor.DerivedKey] = []
        while true {
            let opened = try text.span.withUnsafeBytes { (text) throws(DecryptFailure) in
                try decryptor.open(text, as: encoding, &scratch, ring, derived) { (need, ring) throws(DecryptFailure) in
                    let key = name.map { $0.withUnsafeBytes { ring.key(named: $0, for: need) } } ?? ring.key(for: need)
                    guard let key else { throw .noKey }
                    return key
                } draft: {
                    draft?.form
                }
            }
            switch opened {
            case .text(let plaintext, _): return Array(plaintext)
            case .underived(let derivation): derived.append((derivation.identity, try derivation.compute()))
            }
        }
    }
}
