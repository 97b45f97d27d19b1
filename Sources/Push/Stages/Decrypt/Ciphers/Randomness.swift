import CPushmillOpenSSL

enum Randomness {
    /// Fills it with what nobody can foretell.
    static func fill(_ bytes: UnsafeMutableRawBufferPointer) throws(DecryptFailure) {
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard RAND_bytes(start, Int32(bytes.count)) == 1 else { throw .unsupported }
    }
}
