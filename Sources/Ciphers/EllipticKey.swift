import CPushmillOpenSSL

/// A private key on the curve P-256, with its public point.
///
/// Unchecked because OpenSSL lets threads share an unchanged key but does not say so in a type. A message's point gets
/// an object of its own and is never put into this one.
final class EllipticKey: @unchecked Sendable {
    static let secretCount = 32
    /// 4, x and y.
    static let pointCount = 65

    private let key: OpaquePointer
    /// Uncompressed.
    let point: [UInt8]

    /// Nil if the number is not a private key of the curve.
    init?(secret: UnsafeRawBufferPointer) {
        defer { ERR_clear_error() }
        guard secret.count == Self.secretCount, let key = Self.read(secret) else { return nil }
        guard let point = Self.checkedPoint(of: key) else {
            EVP_PKEY_free(key)
            return nil
        }
        self.key = key
        self.point = point
    }

    deinit { EVP_PKEY_free(key) }

    /// Returns a new key and the number to store it by.
    static func generate() throws(DecryptFailure) -> (key: EllipticKey, secret: SecretBytes) {
        // A random number exceeds the curve's order once in 2^32 times.
        for _ in 0..<8 {
            let secret = try SecretBytes.random(secretCount)
            if let key = EllipticKey(secret: secret.bytes) { return (key, secret) }
        }
        throw .unsupported
    }

    /// Whether these are a point of the curve. One in 2^256 of other sequences that begin with 4 is.
    static func isPoint(_ bytes: UnsafeRawBufferPointer) -> Bool {
        defer { ERR_clear_error() }
        guard bytes.count == pointCount, bytes[0] == 4, let point = EC_POINT_new(group) else { return false }
        defer { EC_POINT_free(point) }
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return EC_POINT_oct2point(group, point, start, bytes.count, nil) == 1
    }

    /// Threads share it: nothing changes it.
    nonisolated(unsafe) private static let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)

    /// Writes the secret shared with the owner of a public point: `secretCount` bytes. The point may come from anyone.
    /// Points off the curve are refused, because they would give the key away.
    func agree(with point: [UInt8], into output: UnsafeMutableRawPointer) throws(DecryptFailure) {
        defer { ERR_clear_error() }
        guard point.count == Self.pointCount, point.first == 4, let peer = EVP_PKEY_new() else { throw .malformed }
        defer { EVP_PKEY_free(peer) }
        guard EVP_PKEY_copy_parameters(peer, key) == 1,
            EVP_PKEY_set1_encoded_public_key(peer, point, point.count) == 1,
            let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        else { throw .malformed }
        defer { EVP_PKEY_CTX_free(context) }
        // On a curve of prime order, nothing but being on the curve needs a check.
        guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer_ex(context, peer, 0) == 1 else {
            throw .malformed
        }
        var count = Self.secretCount
        guard EVP_PKEY_derive(context, output.assumingMemoryBound(to: UInt8.self), &count) == 1,
            count == Self.secretCount
        else { throw .malformed }
    }

    /// Builds the number's standard form (RFC 5915), from which OpenSSL computes the point.
    private static func read(_ secret: UnsafeRawBufferPointer) -> OpaquePointer? {
        let form = SecretBytes(count: opening.count + secretCount + curve.count) { form in
            form.copyBytes(from: opening)
            UnsafeMutableRawBufferPointer(rebasing: form[opening.count...]).copyMemory(from: secret)
            UnsafeMutableRawBufferPointer(rebasing: form[(opening.count + secretCount)...]).copyBytes(from: curve)
        }
        return withExtendedLifetime(form) {
            var start = form.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return d2i_PrivateKey(EVP_PKEY_EC, nil, &start, form.count)
        }
    }

    private static let opening: [UInt8] = [0x30, 0x31, 2, 1, 1, 4, 0x20]
    private static let curve: [UInt8] = [0xA0, 10, 6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7]

    private static func checkedPoint(of key: OpaquePointer) -> [UInt8]? {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var bytes: UnsafeMutablePointer<UInt8>?
        guard EVP_PKEY_private_check(context) == 1, EVP_PKEY_get1_encoded_public_key(key, &bytes) == pointCount
        else { return nil }
        defer { CRYPTO_free(bytes, #fileID, #line) }
        return Array(UnsafeBufferPointer(start: bytes, count: pointCount))
    }
}
