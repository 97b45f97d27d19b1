import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload

@Suite("Choosing a key")
struct KeyChoiceTests {
    /// Two keys of each kind, named `first` and `second`.
    private let fixture: DecryptFixture
    private let ring: KeyRing

    init() throws {
        let names = ["first", "second"]
        let keys = try names.flatMap { name in
            try [KeyUse.direct, .gcm256, .webPush].map { try KeyGenerator.text($0, name: name) }
        }
        let text = "{\"keys\":[\(keys.joined(separator: ","))]}"
        fixture = try DecryptFixture(keys: text)
        ring = KeyRing(try KeySetReader(Array(text.utf8)).keys)
    }

    private func sealed(_ form: SealingForm = .aesGCM, by name: String) throws -> String {
        try Sealer().seal(Array("hello".utf8), as: form, ring, keyName: name).text
    }

    private func stages(
        _ text: String, id: String? = nil, header: String? = nil, recipient: String = "anna"
    ) async throws -> String? {
        let members = id.map { ",\"ENCRYPTION_KEY_ID\":\"\($0)\"" } ?? ""
        var message = DecryptFixture.message(text, members: members, key: recipient)
        if let header {
            message.envelope.headers.append(
                RecordEnvelope.Header(name: Array("encryption-key-id".utf8), value: Array(header.utf8)))
        }
        return try await fixture.publish(message).stages
    }

    @Test("Without a key name, the first fitting key is used")
    func standard() async throws {
        try await expect(stages(try sealed(by: "first")), is: "decrypt=ok")
        try await expect(stages(try sealed(by: "second")), is: "decrypt=failed:authentication")
    }

    @Test("A ciphertext that has web push's lengths but no point of its curve opens with its own form's key")
    func lookalike() async throws {
        let text = "{\"keys\":[\(try KeyGenerator.text(.gcm256, name: nil))]}"
        let fixture = try DecryptFixture(keys: text) { $0.formats = [.aesGCM, .webPush] }
        let key = try #require(try KeySetReader(Array(text.utf8)).keys.first)
        let secret = withExtendedLifetime(key) { Array(key.secret.bytes) }
        let context = try SealingContext()
        // The ciphertext gets web push's bytes for the point's size and its first byte. With some nonces an ASCII text
        // leads to them.
        for number in UInt8.min...(.max) {
            let nonce = Array(repeating: number, count: 12)
            var plain = Array(repeating: UInt8(ascii: "x"), count: 100)
            let sealed = try context.seal(.aes256GCM, key: secret, nonce: nonce, plain).text
            for (place, byte) in [(8, 65), (9, 4)] as [(Int, UInt8)] { plain[place] ^= sealed[place] ^ byte }
            guard plain.allSatisfy({ $0 < 0x80 }) else { continue }
            var bytes = try { nonce + $0.text + $0.tag }(
                context.seal(.aes256GCM, key: secret, nonce: nonce, plain))
            #expect(!bytes.withUnsafeMutableBytes { WebPushForm.isLike($0) })
            let result = try await fixture.publish(Base64.urlText(bytes))
            expect(result.stages, is: "decrypt=ok")
            return
        }
        Issue.record("there is no such nonce")
    }

    @Test("A web push message may have any record size that it fits into", arguments: [0, 1, 0x7F, 0xFF] as [UInt8])
    func recordSize(first: UInt8) async throws {
        let sealed = try DecryptKeys.seal("hello", .webPush, "push")
        var bytes = Array(sealed.utf8).withUnsafeBufferPointer { BinaryText.bytes($0.span) }
        bytes.replaceSubrange(16..<20, with: [first, 0xFF, 0xFF, 0xFF])
        let fixture = try DecryptFixture(keys: DecryptKeys.text)
        try await expect(fixture.publish(Base64.urlText(bytes)).stages, is: "decrypt=ok")
    }

    @Test("A ciphertext whose only possible form has no key fails with no-key")
    func noKey() async throws {
        let fixture = try DecryptFixture(keys: "{\"keys\":[\(try KeyGenerator.text(.gcm256, name: nil))]}") {
            $0.formats = [.webPush]
        }
        let sealed = try DecryptKeys.seal("hello", .webPush, "push")
        try await expect(fixture.publish(sealed).stages, is: "decrypt=failed:no-key")
    }

    @Test("A payload member, a header or the recipient can name the key")
    func named() async throws {
        let text = try sealed(by: "second")
        try await expect(stages(text, id: "second"), is: "decrypt=ok")
        try await expect(stages(text, header: "second"), is: "decrypt=ok")
        try await expect(stages(text, recipient: "second"), is: "decrypt=ok")
        try await expect(stages(try sealed(.webPush, by: "second"), recipient: "second"), is: "decrypt=ok")
    }

    @Test("The member's key name precedes the header's, and the header's the recipient's")
    func order() async throws {
        let text = try sealed(by: "second")
        try await expect(stages(text, id: "second", header: "first", recipient: "first"), is: "decrypt=ok")
        try await expect(stages(text, header: "second", recipient: "first"), is: "decrypt=ok")
        try await expect(stages(text, id: "first", header: "second"), is: "decrypt=failed:authentication")
    }

    @Test("An unknown key name fails with no-key; an unknown recipient gets the first key")
    func unknown() async throws {
        let text = try sealed(by: "first")
        try await expect(stages(text, id: "nobody"), is: "decrypt=failed:no-key")
        try await expect(stages(text, header: "nobody"), is: "decrypt=failed:no-key")
        try await expect(stages(text, recipient: "nobody"), is: "decrypt=ok")
        try await expect(stages(text, id: "", header: ""), is: "decrypt=ok")
    }

    @Test("A JWE's own kid takes precedence over all other key names")
    func own() async throws {
        try await expect(stages(try sealed(.jwe, by: "second"), id: "first", header: "nobody"), is: "decrypt=ok")
    }

    @Test("A JWE without a kid uses the key that the message names")
    func anonymous() async throws {
        let key = try #require(ring.keys.first { $0.name == "second" && $0.use == .direct })
        let nameless = KeyRing([DecryptionKey(name: nil, use: .direct, secret: key.secret)])
        let text = try Sealer().seal(Array("hello".utf8), as: .jwe, nameless).text
        try await expect(stages(text, header: "second"), is: "decrypt=ok")
        try await expect(stages(text), is: "decrypt=failed:authentication")
    }

    @Test("A bound key opens only for its recipient, whatever the ciphertext and the message name")
    func bound() async throws {
        let names = ["bob", "mallory"]
        let keys = try names.flatMap { name in
            try [KeyUse.direct, .gcm256, .webPush, .passphrase].map { try KeyGenerator.text($0, name: name) }
        }
        let text = "{\"keys\":[\(keys.joined(separator: ","))]}"
        let fixture = try DecryptFixture(keys: text) { $0.bindsKeys = true }
        let ring = KeyRing(try KeySetReader(Array(text.utf8)).keys)
        for form in [SealingForm.jwe, .aesGCM, .webPush, .openSSL] {
            let text = try Sealer().seal(Array("for bob".utf8), as: form, ring, keyName: "bob").text
            func stages(_ recipient: String?, _ members: String = "") async throws -> String? {
                try await fixture.publish(DecryptFixture.message(text, members: members, key: recipient)).stages
            }
            try await expect(stages("bob"), is: "decrypt=ok")
            try await expect(stages("bob", #","ENCRYPTION_KEY_ID":"mallory""#), is: "decrypt=ok")
            let failed = "decrypt=failed:authentication"
            try await expect(stages("mallory"), is: failed, "\(form)")
            try await expect(stages("mallory", #","ENCRYPTION_KEY_ID":"bob""#), is: failed, "\(form)")
            try await expect(stages("carol", #","ENCRYPTION_KEY_ID":"bob""#), is: "decrypt=failed:no-key")
            try await expect(stages(nil), is: "decrypt=failed:no-key")
        }
    }

    @Test("Each of ten thousand named keys is found")
    func many() throws {
        let secret = SecretBytes([UInt8](repeating: 1, count: 32))
        let keys = (0..<10_000).map { DecryptionKey(name: "user-\($0)", use: .direct, secret: secret) }
        let ring = KeyRing(keys)
        for key in keys {
            let name = try #require(key.nameBytes)
            #expect(name.withUnsafeBytes { ring.key(named: $0, for: KeyNeed(.direct)) } === key)
            #expect(name.withUnsafeBytes { ring.key(named: $0, for: KeyNeed(.passphrase)) } == nil)
        }
        #expect([UInt8]("user-".utf8).withUnsafeBytes { ring.key(named: $0, for: KeyNeed(.direct)) } == nil)
    }
}
