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

    /// Which keys serve it, the usual one first.
    package var keyUses: [KeyUse] {
        switch self {
        case .jwe: [.direct, .wrap128, .wrap256, .gcmWrap256, .agreement]
        case .openSSL: [.passphrase]
        case .aesGCM: [.gcm256, .gcm128]
        case .chaCha20: [.chacha20]
        case .webPush, .webPushDraft: [.webPush]
        case .rot13: []
        }
    }
}
