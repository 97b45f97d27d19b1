/// The ciphers in the other direction, for samples and tests: over arrays, and no faster than need be.
final class SealingContext {
    var scratch: DecryptScratch
    private let ciphers: CipherContext

    init() throws(DecryptFailure) {
        scratch = try DecryptScratch()
        ciphers = try CipherContext()
    }

    func random(_ count: Int) throws(DecryptFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        try span.withUnsafeMutableBytes { (bytes) throws(DecryptFailure) in try Randomness.fill(bytes) }
        return bytes
    }

    func seal(
        _ cipher: Cipher, key: [UInt8], nonce: [UInt8], additional: [UInt8] = [], _ text: [UInt8]
    ) throws(DecryptFailure) -> (text: [UInt8], tag: [UInt8]) {
        var text = text
        var tag = [UInt8](repeating: 0, count: Cipher.tagCount)
        var span = text.mutableSpan
        try span.withUnsafeMutableBytes { (text) throws(DecryptFailure) in
            try key.span.withUnsafeBytes { (key) throws(DecryptFailure) in
                try additional.span.withUnsafeBytes { (additional) throws(DecryptFailure) in
                    try ciphers.seal(cipher, CipherKey(key), nonce: nonce, additional: additional, text, tag: &tag)
                }
            }
        }
        return (text, tag)
    }

    func sealBlocks(
        _ cipher: Cipher, key: [UInt8], iv: [UInt8], _ text: [UInt8]
    ) throws(DecryptFailure) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: text.count + Cipher.blockCount)
        let count = try key.span.withUnsafeBytes { (key) throws(DecryptFailure) in
            try text.span.withUnsafeBytes { (text) throws(DecryptFailure) in
                try ciphers.sealBlocks(cipher, CipherKey(key), iv: iv, text, into: &output)
            }
        }
        output.removeLast(output.count - count)
        return output
    }

    func wrap(_ cipher: Cipher, key: [UInt8], _ content: [UInt8]) throws(DecryptFailure) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: content.count + 8)
        try key.span.withUnsafeBytes { (key) throws(DecryptFailure) in
            try content.span.withUnsafeBytes { (content) throws(DecryptFailure) in
                try ciphers.wrap(cipher, CipherKey(key), content, into: &output)
            }
        }
        return output
    }

    func code(_ hash: KeyedDigest, key: [UInt8], _ parts: [UInt8]...) throws(DecryptFailure) -> [UInt8] {
        try key.span.withUnsafeBytes { (key) throws(DecryptFailure) in try hash.begin(key) }
        for part in parts { try hash.add(part) }
        let output = scratch.secrets[.code]
        try hash.end(into: output)
        return Array(UnsafeRawBufferPointer(start: output, count: hash.count))
    }
}
