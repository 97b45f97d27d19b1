import CPushmillOpenSSL
package import PushmillPayload

/// SHA-256 of bytes that arrive in pieces. Belongs to one thread at a time.
package final class ContentHash {
    static let count = 32

    private let context = EVP_MD_CTX_new()

    /// Fails only if memory runs out; once begun, it does not fail.
    package init() throws(FileFailure) {
        guard EVP_DigestInit_ex2(context, EVP_sha256(), nil) == 1 else {
            throw FileFailure(path: "SHA-256", what: "cannot compute a hash")
        }
    }

    deinit { EVP_MD_CTX_free(context) }

    package func add(_ bytes: UnsafeRawBufferPointer) { EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

    /// Returns the hash in hex. No bytes may be added afterwards.
    package func end() -> String {
        var bytes = [UInt8](repeating: 0, count: Self.count)
        EVP_DigestFinal_ex(context, &bytes, nil)
        return bytes.map { String($0, radix: 16).aligned(to: 2, by: "0") }.joined()
    }

    /// Writes `count` bytes. Fails only if memory runs out.
    package static func hash(
        _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer
    ) throws(DecryptFailure) {
        let output = output.assumingMemoryBound(to: UInt8.self)
        try check(EVP_Digest(bytes.baseAddress, bytes.count, output, nil, EVP_sha256(), nil))
    }
}

/// Throws if a call of OpenSSL has failed, and clears the thread's error queue for its next user.
func check(_ status: Int32, or failure: DecryptFailure = .unsupported) throws(DecryptFailure) {
    guard status > 0 else {
        ERR_clear_error()
        throw failure
    }
}
