import CPushmillOpenSSL
package import PushmillPayload

/// SHA-256 of bytes that arrive in pieces. Belongs to one thread at a time.
package final class ContentHash {
    private let context: DigestContext

    /// Fails only if memory runs out; once begun, it does not fail.
    package init() throws(FileFailure) {
        do throws(DecryptFailure) {
            context = try DigestContext(.sha256)
            try context.begin()
        } catch {
            throw FileFailure(path: "SHA-256", what: "cannot compute a hash")
        }
    }

    package func add(_ bytes: UnsafeRawBufferPointer) { try? context.add(bytes) }

    /// Returns the hash in hex. No bytes may be added afterwards.
    package func end() -> String {
        var bytes = [UInt8](repeating: 0, count: context.count)
        bytes.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { try? context.end(into: base) }
        }
        return bytes.reduce(into: "") { text, byte in
            text += String(byte >> 4, radix: 16)
            text += String(byte & 15, radix: 16)
        }
    }

    /// Writes 32 bytes; if memory runs out, writes nothing.
    package static func hash(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutablePointer<UInt8>?) {
        EVP_Digest(bytes.baseAddress, bytes.count, output, nil, EVP_sha256(), nil)
    }
}

/// A reusable hash.
final class DigestContext {
    enum Algorithm: String {
        case md5 = "MD5"
        case sha256 = "SHA256"
    }

    private let context: OpaquePointer
    private let algorithm: OpaquePointer

    init(_ algorithm: Algorithm) throws(DecryptFailure) {
        guard let fetched = EVP_MD_fetch(nil, algorithm.rawValue, nil) else { throw .unsupported }
        guard let context = EVP_MD_CTX_new() else {
            EVP_MD_free(fetched)
            throw .unsupported
        }
        self.algorithm = fetched
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
        EVP_MD_free(algorithm)
    }

    var count: Int { Int(EVP_MD_get_size(algorithm)) }

    func begin() throws(DecryptFailure) { try check(EVP_DigestInit_ex2(context, algorithm, nil)) }

    func add(_ bytes: UnsafeRawBufferPointer) throws(DecryptFailure) {
        try check(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count))
    }

    func add(_ bytes: [UInt8]) throws(DecryptFailure) {
        try bytes.span.withUnsafeBytes { (bytes) throws(DecryptFailure) in try add(bytes) }
    }

    /// `output` has room for `count` bytes.
    func end(into output: UnsafeMutableRawPointer) throws(DecryptFailure) {
        try check(EVP_DigestFinal_ex(context, output.assumingMemoryBound(to: UInt8.self), nil))
    }
}

/// Throws if a call of OpenSSL has failed, and clears the thread's error queue for its next user.
func check(_ status: Int32, or failure: DecryptFailure = .unsupported) throws(DecryptFailure) {
    guard status > 0 else {
        ERR_clear_error()
        throw failure
    }
}
