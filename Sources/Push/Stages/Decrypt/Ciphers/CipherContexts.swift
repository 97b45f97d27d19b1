/// The cipher contexts of one thread. Some are kept for the keys in use, so that their expansion is done once.
struct CipherContexts {
    private static let keptCount = 16

    /// Those for kept keys, and behind them one of each cipher for keys that serve one message only.
    private let contexts: [CipherContext]

    init() throws(DecryptFailure) {
        var contexts: [CipherContext] = []
        for _ in 0..<Self.keptCount + Cipher.allCases.count { contexts.append(try CipherContext()) }
        self.contexts = contexts
    }

    subscript(cipher: Cipher, key: CipherKey) -> CipherContext {
        let isKept = key.serial != 0
        return contexts[isKept ? Int(key.serial % UInt64(Self.keptCount)) : Self.keptCount + cipher.rawValue]
    }
}
