/// The forms of ciphertext, by the names that a configuration allows them by.
package enum CiphertextFormat: String, CaseIterable, Sendable {
    case jwe
    case openSSL = "openssl"
    case aesGCM = "aes-gcm"
    case chaCha20 = "chacha20-poly1305"
    case webPush = "webpush"
    /// Has no shape to be recognised by, so it stands alone.
    case rot13
}
