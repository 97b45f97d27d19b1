/// The forms in which samples are made.
package enum SealingForm: String, CaseIterable, Sendable {
    case jwe
    case openSSL = "openssl"
    case aesGCM = "aes-gcm"
    case chaCha20 = "chacha20-poly1305"
    case webPush = "webpush"
    /// The draft before the RFC.
    case webPushDraft = "webpush-aesgcm"
    case rot13

    /// Which keys serve it.
    var uses: KeyUses {
        switch self {
        case .jwe: KeyUses([.direct, .wrap128, .wrap256, .gcmWrap256, .agreement])
        case .openSSL: KeyUses(.passphrase)
        case .aesGCM: KeyUses([.gcm128, .gcm256])
        case .chaCha20: KeyUses(.chacha20)
        case .webPush, .webPushDraft: KeyUses(.webPush)
        case .rot13: []
        }
    }
}
