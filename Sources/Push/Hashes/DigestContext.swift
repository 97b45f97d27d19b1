import CPushmillOpenSSL

/// A hash that is computed again and again.
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

    private func check(_ status: Int32) throws(DecryptFailure) {
        guard status == 1 else {
            ERR_clear_error()
            throw .unsupported
        }
    }
}
