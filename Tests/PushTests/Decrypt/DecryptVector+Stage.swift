import PushmillTestSupport

@testable import PushmillCiphers

extension DecryptVector {
    /// The payload's members besides the ciphertext.
    var members: String {
        guard let dh, let salt else { return "" }
        return ",\"k\":\"\(dh)\",\"s\":\"\(salt)\""
    }

    var derivation: PassphraseDerivation {
        if let iterations { return .iterated(iterations) }
        return digest == "md5" ? .md5 : .sha256
    }
}
