extension Measurement {
    /// What decrypting a field of 100 bytes costs: the ciphertext found and opened, the body set, the ciphertext removed,
    /// and both edits undone.
    package static func decrypt(messages: Int = 20_000) throws -> [Measurement] {
        let sample = try DecryptSample()
        return try DecryptSample.forms.map { name, form, keyName in
            var content = try sample.content(form, keyName)
            let mark = content.mark()
            // Key agreement takes so long that fewer will do.
            return Measurement("decrypt, \(name)", messages: form == .webPush ? messages / 50 : messages) {
                precondition(sample.receive(&content) == .ok, "the sample is decrypted")
                content.rollback(to: mark)
            }
        }
    }
}

/// Messages for the decrypt stage, and a stage for them.
package struct DecryptSample {
    package static let forms: [(name: String, SealingForm, keyName: String)] = [
        ("JWE dir A256GCM", .jwe, "k1"), ("JWE A256KW A256GCM", .jwe, "k2"), ("openssl SHA-256", .openSSL, "pw"),
        ("AES-GCM", .aesGCM, "raw"), ("ChaCha20-Poly1305", .chaCha20, "cc"), ("web push", .webPush, "push"),
    ]
    private static let uses: KeyValuePairs<String, KeyUse> = [
        "k1": .direct, "k2": .wrap256, "pw": .passphrase, "raw": .gcm256, "cc": .chacha20, "push": .webPush,
    ]

    private let ring: KeyRing
    let stage: DecryptStage
    private let context = Chain([]).context(Delivery())

    package init() throws {
        let keys = try Self.uses.reduce(nil) { set, key in
            KeyGenerator.add(try KeyGenerator.generate(key.value, name: key.key), to: set)
        }
        let ring = KeyRing(try KeySetReader(keys ?? []).keys)
        self.ring = ring
        var options = DecryptOptions()
        options.formats.append(.openSSL)
        stage = DecryptStage(options, keys: try ReloadableFile(path: "sample") { _, _ in ring })
    }

    package func content(_ form: SealingForm, _ keyName: String) throws -> NotificationContent {
        try NotificationContent(try payload(form, keyName, title: "GROUP_MESSAGE"))
    }

    func payload(_ form: SealingForm, _ keyName: String, title: String) throws -> String {
        let text = [UInt8](repeating: UInt8(ascii: "x"), count: 100)
        let sealed = try Sealer().seal(text, as: form, ring, keyName: keyName)
        return """
            {"aps":{"alert":{"title-loc-key":"\(title)","title-loc-args":["{contact:c48213}","Sailing club"],\
            "body":"(Encrypted)"},"mutable-content":1,"badge":1,"sound":"default","thread-id":"room-48213"},\
            "ENCRYPTION_KEY_ID":"\(keyName)","ENCRYPTED_DATA":"\(sealed.text)","sender":"c48213"}
            """
    }

    package func receive(_ content: inout NotificationContent) -> StageResult {
        stage.didReceiveAtOnce(&content, context: context) ?? .expired
    }
}
