import PushmillStages
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload

@Suite("The choice of a key")
struct KeyChoiceTests {
    /// Two keys of each kind, the second of which is used for sealing.
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

    @Test("Without a name it is the first that fits")
    func standard() async throws {
        #expect(try await stages(try sealed(by: "first")) == "decrypt=ok")
        #expect(try await stages(try sealed(by: "second")) == "decrypt=failed:authentication")
    }

    @Test("What looks like web push, and is not, is opened by the key of its own form")
    func lookalike() async throws {
        let text = "{\"keys\":[\(try KeyGenerator.text(.gcm256, name: nil))]}"
        let fixture = try DecryptFixture(keys: text) { $0.formats = [.aesGCM, .webPush] }
        let key = try #require(try KeySetReader(Array(text.utf8)).keys.first)
        let secret = withExtendedLifetime(key) { Array(key.secret.bytes) }
        let context = try SealingContext()
        // The size of a record, of a point and its first byte stand where web push has them: for some nonces a text
        // leads to that.
        for number in UInt8.min...(.max) {
            let nonce = Array(repeating: number, count: 12)
            var plain = Array(repeating: UInt8(ascii: "x"), count: 100)
            let sealed = try context.seal(.aes256GCM, key: secret, nonce: nonce, plain).text
            for (place, byte) in [(4, 0), (8, 65), (9, 4)] as [(Int, UInt8)] { plain[place] ^= sealed[place] ^ byte }
            guard plain.allSatisfy({ $0 < 0x80 }) else { continue }
            var bytes = try { nonce + $0.text + $0.tag }(
                context.seal(.aes256GCM, key: secret, nonce: nonce, plain))
            #expect(bytes.withUnsafeMutableBytes { WebPushForm.isLike($0) })
            let result = try await fixture.publish(Base64.urlText(bytes))
            #expect(result.stages == "decrypt=ok")
            return
        }
        Issue.record("there is no such nonce")
    }

    @Test("Without a key for the only form that it can be of, that is said")
    func noKey() async throws {
        let fixture = try DecryptFixture(keys: "{\"keys\":[\(try KeyGenerator.text(.gcm256, name: nil))]}") {
            $0.formats = [.webPush]
        }
        let sealed = try DecryptKeys.seal("hello", .webPush, "push")
        #expect(try await fixture.publish(sealed).stages == "decrypt=failed:no-key")
    }

    @Test("The member, the header and the recipient name it")
    func named() async throws {
        let text = try sealed(by: "second")
        #expect(try await stages(text, id: "second") == "decrypt=ok")
        #expect(try await stages(text, header: "second") == "decrypt=ok")
        #expect(try await stages(text, recipient: "second") == "decrypt=ok")
        #expect(try await stages(try sealed(.webPush, by: "second"), recipient: "second") == "decrypt=ok")
    }

    @Test("The member goes before the header, and that before the recipient")
    func order() async throws {
        let text = try sealed(by: "second")
        #expect(try await stages(text, id: "second", header: "first", recipient: "first") == "decrypt=ok")
        #expect(try await stages(text, header: "second", recipient: "first") == "decrypt=ok")
        #expect(try await stages(text, id: "first", header: "second") == "decrypt=failed:authentication")
    }

    @Test("A name that no key has is no-key; a recipient without one gets the first")
    func unknown() async throws {
        let text = try sealed(by: "first")
        #expect(try await stages(text, id: "nobody") == "decrypt=failed:no-key")
        #expect(try await stages(text, header: "nobody") == "decrypt=failed:no-key")
        #expect(try await stages(text, recipient: "nobody") == "decrypt=ok")
        #expect(try await stages(text, id: "", header: "") == "decrypt=ok")
    }

    @Test("A JWE's own kid counts before everything")
    func own() async throws {
        #expect(try await stages(try sealed(.jwe, by: "second"), id: "first", header: "nobody") == "decrypt=ok")
    }

    @Test("A JWE without a kid goes by the message's")
    func anonymous() async throws {
        let key = try #require(ring.keys.first { $0.name == "second" && $0.use == .direct })
        let nameless = KeyRing([DecryptionKey(name: nil, use: .direct, secret: key.secret)])
        let text = try Sealer().seal(Array("hello".utf8), as: .jwe, nameless).text
        #expect(try await stages(text, header: "second") == "decrypt=ok")
        #expect(try await stages(text) == "decrypt=failed:authentication")
    }

    // (trust 2)
    @Test("A key that is bound opens for its recipient alone, whatever the ciphertext and the message say")
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
            #expect(try await stages("bob") == "decrypt=ok")
            #expect(try await stages("bob", #","ENCRYPTION_KEY_ID":"mallory""#) == "decrypt=ok")
            let failed = "decrypt=failed:authentication"
            #expect(try await stages("mallory") == failed, "\(form)")
            #expect(try await stages("mallory", #","ENCRYPTION_KEY_ID":"bob""#) == failed, "\(form)")
            #expect(try await stages("carol", #","ENCRYPTION_KEY_ID":"bob""#) == "decrypt=failed:no-key")
            #expect(try await stages(nil) == "decrypt=failed:no-key")
        }
    }

    @Test("Ten thousand names are each found")
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
