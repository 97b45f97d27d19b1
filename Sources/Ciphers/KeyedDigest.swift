import CPushmillOpenSSL

/// A reusable HMAC.
final class KeyedDigest {
    enum Algorithm: String {
        case sha256 = "SHA256"
        case sha512 = "SHA512"

        var count: Int { self == .sha256 ? 32 : 64 }
    }

    private let context: OpaquePointer
    private let algorithm: Algorithm

    init(_ algorithm: Algorithm) throws(DecryptFailure) {
        self.algorithm = algorithm
        let mac = EVP_MAC_fetch(nil, OSSL_MAC_NAME_HMAC, nil)
        // The context keeps its own reference.
        defer { EVP_MAC_free(mac) }
        guard let context = EVP_MAC_CTX_new(mac) else { throw .unsupported }
        self.context = context
        // OpenSSL keeps the addresses of both texts during the call.
        let status = OSSL_MAC_PARAM_DIGEST.withCString { parameter in
            var name = Array(algorithm.rawValue.utf8CString)
            return name.withUnsafeMutableBufferPointer { name in
                var parameters = [
                    OSSL_PARAM_construct_utf8_string(parameter, name.baseAddress, 0), OSSL_PARAM_construct_end(),
                ]
                return EVP_MAC_CTX_set_params(context, &parameters)
            }
        }
        try check(status)
    }

    deinit { EVP_MAC_CTX_free(context) }

    var count: Int { algorithm.count }

    func begin(_ key: UnsafeRawBufferPointer) throws(DecryptFailure) {
        let bytes = key.baseAddress?.assumingMemoryBound(to: UInt8.self)
        try check(EVP_MAC_init(context, bytes, key.count, nil))
    }

    func add(_ bytes: UnsafeRawBufferPointer) throws(DecryptFailure) {
        try check(EVP_MAC_update(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count))
    }

    func add(_ bytes: [UInt8]) throws(DecryptFailure) {
        try bytes.span.withUnsafeBytes { (bytes) throws(DecryptFailure) in try add(bytes) }
    }

    /// `output` must have room for the whole code; callers may use only the beginning.
    func end(into output: UnsafeMutableRawPointer) throws(DecryptFailure) {
        var count = 0
        try check(EVP_MAC_final(context, output.assumingMemoryBound(to: UInt8.self), &count, algorithm.count))
    }

    /// Computes the code into `room`, which must hold all of it, and compares its start with `tag` in constant time.
    func end(expecting tag: UnsafeMutableRawBufferPointer, room: UnsafeMutableRawPointer) throws(DecryptFailure) {
        try end(into: room)
        guard tag.count <= algorithm.count, let expected = tag.baseAddress,
            CRYPTO_memcmp(room, expected, tag.count) == 0
        else { throw .authentication }
    }
}
