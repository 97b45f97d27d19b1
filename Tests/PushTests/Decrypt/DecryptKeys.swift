@testable import PushmillCiphers
@testable import PushmillPayload

/// A key set with a key for every use, under these names.
enum DecryptKeys {
    static let uses: KeyValuePairs<String, KeyUse> = [
        "k1": .direct, "k2": .wrap256, "k3": .wrap128, "k4": .gcmWrap256, "ec": .agreement, "raw": .gcm256,
        "raw128": .gcm128, "cc": .chacha20, "pw": .passphrase, "push": .webPush,
    ]

    /// Generated once: tests seal and open with the same keys.
    static let text: String = {
        let keys = uses.compactMap { name, use in try? KeyGenerator.text(use, name: name) }
        return "{\"keys\":[\(keys.joined(separator: ","))]}"
    }()

    static let ring = KeyRing((try? KeySetReader(Array(text.utf8)).keys) ?? [])

    static func secret(_ name: String) -> [UInt8] {
        ring.keys.first { $0.name == name }.map { Array($0.secret.bytes) } ?? []
    }

    static func form(of name: String) -> SealingForm? {
        guard let key = ring.keys.first(where: { $0.name == name }) else { return nil }
        return SealingForm.allCases.first { $0.keyUses.contains(key.use) }
    }

    static func seal(
        _ text: String, _ form: SealingForm, _ name: String, _ change: (inout Sealer.Choices) -> Void = { _ in }
    ) throws -> String {
        var choices = Sealer.Choices()
        change(&choices)
        return try Sealer(choices).seal(Array(text.utf8), as: form, ring, keyName: name).text
    }

    /// A JWE under `k1` with any header and content.
    static func direct(
        _ header: String = #"{"alg":"dir","enc":"A256GCM","kid":"k1"}"#, content: [UInt8] = Array("hello".utf8)
    ) throws -> String {
        let header = Base64.urlText(Array(header.utf8))
        let context = try SealingContext()
        let nonce = try context.random(12)
        let sealed = try context.seal(
            .aes256GCM, key: secret("k1"), nonce: nonce, additional: Array(header.utf8), content)
        return ([header, ""] + [nonce, sealed.text, sealed.tag].map(Base64.urlText)).joined(separator: ".")
    }
}

extension KeyGenerator {
    static func text(_ use: KeyUse, name: String?, count: Int? = nil) throws -> String {
        String(decoding: try generate(use, name: name, count: count), as: UTF8.self)
    }
}
