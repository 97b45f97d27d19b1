/// Finds the key for a ciphertext that does not name one itself.
typealias KeyChoice = (_ need: KeyNeed, _ ring: KeyRing) throws(DecryptFailure) -> DecryptionKey
