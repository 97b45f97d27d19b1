import Glibc

/// The forms that a configuration allows, and how they are told apart.
struct AllowedForms: Sendable {
    let jwe: Bool
    let openSSL: Bool
    let webPush: Bool
    let rot13: Bool
    /// The uses of keys for nonce, ciphertext and tag in one; these forms look alike.
    let combined: KeyUses

    init(_ formats: [CiphertextFormat]) {
        jwe = formats.contains(.jwe)
        openSSL = formats.contains(.openSSL)
        webPush = formats.contains(.webPush)
        rot13 = formats.contains(.rot13)
        var combined: [KeyUse] = []
        if formats.contains(.aesGCM) { combined += [.gcm128, .gcm256] }
        if formats.contains(.chaCha20) { combined += [.chacha20] }
        self.combined = KeyUses(combined)
    }

    enum Recognised {
        case rot13
        case jwe
        /// Decoded, in the scratch.
        case openSSL(UnsafeMutableRawBufferPointer)
        case binary(UnsafeMutableRawBufferPointer)
    }

    /// With an encoding that is named, a text is no JWE, whatever it looks like.
    func recognise(
        _ text: UnsafeRawBufferPointer, as encoding: BinaryEncoding, in scratch: inout DecryptScratch
    ) throws(DecryptFailure) -> Recognised {
        if rot13 { return .rot13 }
        guard let start = text.baseAddress, !text.isEmpty else { throw .malformed }
        if encoding == .auto, memchr(start, Int32(UInt8(ascii: ".")), text.count) != nil {
            if jwe { return .jwe }
            throw text.count { $0 == UInt8(ascii: ".") } == 4 ? .unsupported : .malformed
        }
        scratch.buffer.reserve(text.count)
        let count = try BinaryText.decode(text, as: encoding, into: scratch.buffer.base)
        let data = scratch.buffer[0..<count]
        guard OpenSSLForm.isLike(data) else { return .binary(data) }
        guard openSSL else { throw .unsupported }
        return .openSSL(data)
    }
}
