import PushmillStages
import PushmillTestSupport
@testable import PushmillCiphers

/// Bad ciphertexts of every form except JWE.
extension BadCiphertext {
    static func forms() throws -> [BadCiphertext] {
        let openSSL = try DecryptKeys.seal("Bob: lunch at 12?", .openSSL, "pw")
        let combined = try DecryptKeys.seal("hello, hello", .aesGCM, "raw")
        let push = try DecryptKeys.seal("hello", .webPush, "push")
        let jwe = try DecryptKeys.direct()
        let rubbish = try Sealer().seal([0xFF, 0xFE, 0xFD], as: .openSSL, DecryptKeys.ring).text
        // A published vector, sealed with another passphrase: with ours its padding is invalid.
        let foreign = try DecryptVectors.read().good[1].data
        return [
            BadCiphertext("nothing", .malformed, ""),
            BadCiphertext("plain words", .malformed, "hello world!"),
            BadCiphertext("a dot", .malformed, "."),
            BadCiphertext("one character", .malformed, "A"),
            BadCiphertext("padding in the middle", .malformed, "QUJD=UJD"),
            BadCiphertext("too much padding", .malformed, "QUJDRA==="),
            BadCiphertext("base64 of something else", .malformed, "aGVsbG8="),
            BadCiphertext("openssl without a salt", .authentication, "U2FsdGVkX18="),
            BadCiphertext("openssl without blocks", .authentication, "U2FsdGVkX18BAgMEBQYHCA=="),
            BadCiphertext("openssl with half a block", .authentication, "U2FsdGVkX18BAgMEBQYHCAp84bFWhueM"),
            BadCiphertext("openssl that unpads to rubbish", .authentication, rubbish),
            BadCiphertext("openssl, not allowed", .unsupported, openSSL) { $0.formats = [.jwe, .aesGCM] },
            BadCiphertext("a JWE, not allowed", .unsupported, jwe) { $0.formats = [.openSSL] },
            BadCiphertext("web push, not allowed", .unsupported, push) { $0.formats = [.jwe] },
            BadCiphertext("no form that is allowed", .malformed, combined) { $0.formats = [.jwe, .openSSL] },
            BadCiphertext("the last byte changed", .authentication, flipped(combined, last: true)),
            BadCiphertext("the first byte changed", .authentication, flipped(combined, last: false)),
            BadCiphertext("cut short", .authentication, String(combined.dropLast(8))),
            BadCiphertext("shorter than nonce and tag", .malformed, String(repeating: "QUJD", count: 9)),
            BadCiphertext("web push, the last byte changed", .authentication, flipped(push, last: true)),
            BadCiphertext("web push without a record", .malformed, String(push.prefix(112))) {
                $0.formats = [.webPush]
            },
            BadCiphertext("web push with a point beside the curve", .malformed, offCurve(push)) {
                $0.formats = [.webPush]
            },
            BadCiphertext("web push of several records", .unsupported, severalRecords(push)),
            BadCiphertext("openssl under another passphrase", .authentication, foreign),
        ]
    }

    private static func changed(_ text: String, _ change: (inout [UInt8]) -> Void) -> String {
        var bytes = Array(text.utf8).withUnsafeBufferPointer { BinaryText.bytes($0.span) }
        change(&bytes)
        return SealedText(bytes).text
    }

    private static func flipped(_ text: String, last: Bool) -> String {
        changed(text) { $0[last ? $0.count - 1 : 0] ^= 1 }
    }

    private static func offCurve(_ text: String) -> String { changed(text) { $0[60] ^= 1 } }

    private static func severalRecords(_ text: String) -> String {
        changed(text) { $0.replaceSubrange(16..<20, with: [0, 0, 0, 18]) }
    }
}
