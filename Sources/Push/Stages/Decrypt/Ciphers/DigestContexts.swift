/// The hashes of one thread.
struct DigestContexts {
    let md5: DigestContext
    let sha256: DigestContext
    let hmac256: KeyedDigest
    let hmac512: KeyedDigest

    init() throws(DecryptFailure) {
        md5 = try DigestContext(.md5)
        sha256 = try DigestContext(.sha256)
        hmac256 = try KeyedDigest(.sha256)
        hmac512 = try KeyedDigest(.sha512)
    }
}
