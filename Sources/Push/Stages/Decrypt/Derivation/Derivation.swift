/// A key whose derivation takes long: no shard's thread computes it.
struct Derivation: Sendable {
    let passphrase: DecryptionKey
    /// As its bytes lie in memory.
    let salt: UInt64
    let iterations: Int

    var identity: Identity { Identity(passphrase: passphrase.serial, salt: salt) }

    struct Identity: Hashable, Sendable {
        let passphrase: UInt64
        let salt: UInt64
    }

    /// Key and initial value.
    func compute() throws(DecryptFailure) -> SecretBytes {
        try SecretBytes(count: PassphraseDerivation.count) { (output) throws(DecryptFailure) in
            guard let start = output.baseAddress else { return }
            try PassphraseDerivation.iterate(iterations, passphrase.secret, salt, into: start)
        }
    }
}
