import COpenSSL

/// A private key on the curve P-256, with its public point.
final class EllipticKey: @unchecked Sendable {
    static let secretCount = 32
    /// 4, x and y.
    static let pointCount = 65

    // Unchecked because OpenSSL lets threads share a key that no one changes, but does not say so in a type.
    private let key: OpaquePointer
    /// Uncompressed.
    let point: [UInt8]

    /// Nil if the number is not a private key of the curve.
    init?(secret: UnsafeRawBufferPointer) {
        guard let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
        defer { EC_GROUP_free(group) }
        guard secret.count == Self.secretCount, let number = Self.number(secret) else { return nil }
        defer { BN_clear_free(number) }
        guard BN_is_zero(number) == 0, BN_cmp(number, EC_GROUP_get0_order(group)) < 0,
            let point = Self.publicPoint(of: number, group),
            let key = Self.makeKey(point, secret: number)
        else {
            ERR_clear_error()
            return nil
        }
        self.key = key
        self.point = point
    }

    deinit { EVP_PKEY_free(key) }

    /// A new key, and the number to store it by.
    static func generate() throws(DecryptFailure) -> (key: EllipticKey, secret: SecretBytes) {
        // A number beyond the curve's order comes up once in 2^32 times.
        for _ in 0..<8 {
            let secret = try SecretBytes(count: secretCount) { (bytes) throws(DecryptFailure) in
                try Randomness.fill(bytes)
            }
            if let key = EllipticKey(secret: secret.bytes) { return (key, secret) }
        }
        throw .unsupported
    }

    /// The secret shared with the owner of a public point, which may come from anyone. Points that are not on the curve
    /// are refused, or they would give the key away.
    /// Writes `secretCount` bytes.
    func agree(with point: [UInt8], into output: UnsafeMutableRawPointer) throws(DecryptFailure) {
        defer { ERR_clear_error() }
        guard point.count == Self.pointCount, point.first == 4, let peer = EVP_PKEY_new() else { throw .malformed }
        defer { EVP_PKEY_free(peer) }
        guard EVP_PKEY_copy_parameters(peer, key) == 1,
            EVP_PKEY_set1_encoded_public_key(peer, point, point.count) == 1,
            let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        else { throw .malformed }
        defer { EVP_PKEY_CTX_free(context) }
        // On a curve of prime order, being on it is all that there is to check.
        guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer_ex(context, peer, 0) == 1 else {
            throw .malformed
        }
        var count = Self.secretCount
        guard EVP_PKEY_derive(context, output.assumingMemoryBound(to: UInt8.self), &count) == 1,
            count == Self.secretCount
        else { throw .malformed }
    }

    private static func number(_ bytes: UnsafeRawBufferPointer) -> OpaquePointer? {
        BN_bin2bn(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count), nil)
    }

    private static func publicPoint(of secret: OpaquePointer, _ group: OpaquePointer) -> [UInt8]? {
        guard let point = EC_POINT_new(group) else { return nil }
        defer { EC_POINT_free(point) }
        guard EC_POINT_mul(group, point, secret, nil, nil, nil) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: pointCount)
        let count = EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &bytes, bytes.count, nil)
        return count == pointCount ? bytes : nil
    }

    private static func makeKey(_ point: [UInt8], secret: OpaquePointer) -> OpaquePointer? {
        guard let builder = OSSL_PARAM_BLD_new() else { return nil }
        defer { OSSL_PARAM_BLD_free(builder) }
        guard OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, SN_X9_62_prime256v1, 0) == 1,
            OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, point.count) == 1,
            OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, secret) == 1,
            let parameters = OSSL_PARAM_BLD_to_param(builder)
        else { return nil }
        defer { OSSL_PARAM_free(parameters) }
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_fromdata_init(context) == 1,
            EVP_PKEY_fromdata(context, &key, pushmill_evp_pkey_keypair, parameters) == 1
        else { return nil }
        return key
    }
}
