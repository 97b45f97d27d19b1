/// The cipher contexts of one thread. A few are kept for the keys in use, so that their expansion is done once.
struct CipherContexts {
    private let kept: [CipherContext]
    private let passing: CipherContext

    init() throws(DecryptFailure) {
        var kept: [CipherContext] = []
        for _ in 0..<16 { kept.append(try CipherContext()) }
        self.kept = kept
        passing = try CipherContext()
    }

    subscript(key: CipherKey) -> CipherContext {
        key.serial == 0 ? passing : kept[Int(key.serial % UInt64(kept.count))]
    }
}
