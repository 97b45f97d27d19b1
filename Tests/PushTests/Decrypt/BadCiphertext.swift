import Testing

@testable import PushmillCiphers
@testable import PushmillPayload
@testable import PushmillStages

/// A ciphertext that must not open, and why.
struct BadCiphertext: CustomTestStringConvertible {
    let testDescription: String
    let text: String
    let reason: DecryptFailure
    var change: @Sendable (inout DecryptOptions) -> Void = { _ in }

    init(
        _ name: String, _ reason: DecryptFailure, _ text: String,
        change: @escaping @Sendable (inout DecryptOptions) -> Void = { _ in }
    ) {
        testDescription = name
        self.text = text
        self.reason = reason
        self.change = change
    }

    static func jwe() throws -> [BadCiphertext] {
        let parts = try DecryptKeys.direct().split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        func with(_ position: Int, _ part: String) -> String {
            var changed = parts
            changed[position] = part
            return changed.joined(separator: ".")
        }
        func header(_ json: String) -> String { with(0, Base64.urlText(Array(json.utf8))) }
        func members(_ members: String) -> String { header(#"{"kid":"k1",\#(members)}"#) }
        let wrapped = try DecryptKeys.seal("x", .jwe, "k2").split(separator: ".").map { String($0) }
        let tamperedKey = wrapped[0] + "." + (wrapped[1].hasPrefix("A") ? "B" : "A") + wrapped[1].dropFirst()
        let epk = #""epk":{"kty":"EC","crv":"P-256","x":"\#(String(repeating: "A", count: 43))","#
        return [
            BadCiphertext("four parts", .malformed, parts[..<4].joined(separator: ".")),
            BadCiphertext(
                "four parts, and a header that is not supported", .malformed,
                String(members(#""alg":"dir","enc":"A256GCM","crit":["exp"]"#).prefix { $0 != "." }) + "...AAAA"),
            BadCiphertext("six parts", .malformed, parts.joined(separator: ".") + ".AAAA"),
            BadCiphertext("nothing but dots", .malformed, "...."),
            BadCiphertext("a header that is no base64url", .malformed, with(0, "e*J9")),
            BadCiphertext("a header with padding", .malformed, with(0, parts[0] + "=")),
            BadCiphertext("a header that is no JSON", .malformed, header("{")),
            BadCiphertext("a header that is no object", .malformed, header("[1]")),
            BadCiphertext("a header without alg", .malformed, members(#""enc":"A256GCM""#)),
            BadCiphertext("a header without enc", .malformed, members(#""alg":"dir""#)),
            BadCiphertext("an alg that is no string", .malformed, members(#""alg":1,"enc":"A256GCM""#)),
            BadCiphertext("an unknown alg", .unsupported, members(#""alg":"RSA-OAEP","enc":"A256GCM""#)),
            BadCiphertext("no encryption", .unsupported, members(#""alg":"none","enc":"A256GCM""#)),
            BadCiphertext("an unknown enc", .unsupported, members(#""alg":"dir","enc":"A192GCM""#)),
            BadCiphertext(
                "an extension that must be understood", .unsupported,
                try DecryptKeys.direct(#"{"alg":"dir","enc":"A256GCM","kid":"k1","crit":["exp"],"exp":1}"#)),
            BadCiphertext("an unknown zip", .unsupported, members(#""alg":"dir","enc":"A256GCM","zip":"GZ""#)),
            BadCiphertext("an unknown key", .noKey, header(#"{"alg":"dir","enc":"A256GCM","kid":"nobody"}"#)),
            BadCiphertext("a key of another kind", .noKey, header(#"{"alg":"dir","enc":"A256GCM","kid":"k2"}"#)),
            BadCiphertext("a key of another length", .noKey, members(#""alg":"dir","enc":"A256CBC-HS512""#)),
            BadCiphertext("a wrapped key where none belongs", .malformed, with(1, "AAAA")),
            BadCiphertext("a nonce of eleven bytes", .malformed, with(2, "AAAAAAAAAAAAAAA")),
            BadCiphertext("no nonce", .malformed, with(2, "")),
            BadCiphertext("a tag cut short", .malformed, with(4, "AAAAAAAAAAAAAAAA")),
            BadCiphertext("no tag", .malformed, with(4, "")),
            BadCiphertext("ciphertext cut short", .authentication, with(3, String(parts[3].dropLast(3)))),
            BadCiphertext(
                "a header changed by a blank", .authentication, header(#"{"alg":"dir", "enc":"A256GCM","kid":"k1"}"#)),
            BadCiphertext("bits that no encoder writes", .malformed, with(3, "aGVsbG9")),
            BadCiphertext(
                "a wrapped key tampered with", .authentication,
                ([tamperedKey] + wrapped[2...]).joined(separator: ".")),
            BadCiphertext(
                "a wrapped key of another length", .malformed,
                ([wrapped[0], "AAAA"] + wrapped[2...]).joined(separator: ".")),
            BadCiphertext(
                "no ephemeral key", .malformed, header(#"{"alg":"ECDH-ES","enc":"A256GCM","kid":"ec"}"#)),
            BadCiphertext(
                "an ephemeral key beside the curve", .malformed,
                header(#"{"alg":"ECDH-ES","enc":"A256GCM",\#(epk)"y":"\#(String(repeating: "A", count: 43))"}}"#)),
            BadCiphertext(
                "an ephemeral key cut short", .malformed,
                header(#"{"alg":"ECDH-ES","enc":"A256GCM",\#(epk)"y":"AAAA"}}"#)),
            BadCiphertext(
                "an ephemeral key of another curve", .unsupported,
                header(#"{"alg":"ECDH-ES","enc":"A256GCM","epk":{"kty":"EC","crv":"P-384"}}"#)),
            BadCiphertext("no nonce for the wrapped key", .malformed, header(#"{"alg":"A256GCMKW","enc":"A256GCM"}"#)),
        ]
    }

    static func plaintexts() throws -> [BadCiphertext] {
        let zipped = #"{"alg":"dir","enc":"A256GCM","kid":"k1","zip":"DEF"}"#
        return [
            BadCiphertext("text that is not UTF-8", .notText, try DecryptKeys.direct(content: [0xFF, 0xFE])),
            BadCiphertext("text cut in a character", .notText, try DecryptKeys.direct(content: [0x41, 0xC3])),
            BadCiphertext("a zip bomb", .tooLarge, try DecryptKeys.direct(zipped, content: Self.bomb)),
            BadCiphertext("what is no zip", .malformed, try DecryptKeys.direct(zipped, content: Array("hello".utf8))),
            BadCiphertext(
                "a zip cut short", .malformed, try DecryptKeys.direct(zipped, content: Array(Self.zipped.dropLast(2)))),
            BadCiphertext(
                "a zip with something behind it", .malformed, try DecryptKeys.direct(zipped, content: Self.zipped + [0])
            ),
            BadCiphertext(
                "text over 64 KiB", .tooLarge,
                try DecryptKeys.direct(content: [UInt8](repeating: 0x41, count: 64 << 10 + 1))),
            BadCiphertext("ten megabytes", .tooLarge, String(repeating: "A", count: 10 << 20)),
        ]
    }

    /// "inflated, inflated, inflated" in raw DEFLATE.
    static let zipped: [UInt8] = [203, 204, 75, 203, 73, 44, 73, 77, 209, 81, 200, 196, 96, 1, 0]
    /// 1 MiB of zeros in raw DEFLATE.
    static let bomb: [UInt8] =
        [237, 193, 49, 1, 0, 0, 0, 194, 160, 245, 79, 109, 8, 95, 160] + [UInt8](repeating: 0, count: 1016) + [62, 3]
}
