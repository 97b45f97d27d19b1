import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload
@testable import PushmillStages

@Suite("Sealing and opening")
struct SealedFormTests {
    private static let text = "Grüße 👋🏽, \"see you\" at 12\n"

    private func opens(_ ciphertext: String, members: String = "", _ change: (inout DecryptOptions) -> Void = { _ in })
        async throws
    {
        let fixture = try DecryptFixture(keys: DecryptKeys.text, change)
        let result = try await fixture.publish(ciphertext, members: members)
        expect(result.stages, is: "decrypt=ok")
        expect(result.body, is: Self.text)
    }

    @Test(
        "A JWE opens with every supported alg and enc",
        arguments: [
            ("k2", "A256KW"), ("k3", "A128KW"), ("k4", "A256GCMKW"), ("ec", "ECDH-ES"), ("ec", "ECDH-ES+A128KW"),
            ("ec", "ECDH-ES+A192KW"), ("ec", "ECDH-ES+A256KW"),
        ], ["A128GCM", "A256GCM", "A128CBC-HS256", "A256CBC-HS512"])
    func jwe(key: (name: String, algorithm: String), encryption: String) async throws {
        let sealed = try DecryptKeys.seal(Self.text, .jwe, key.name) {
            $0.algorithm = key.algorithm
            $0.encryption = encryption
        }
        try await opens(sealed)
    }

    @Test("A JWE encrypted directly with a shared key opens", arguments: ["A256GCM", "A128CBC-HS256"])
    func direct(encryption: String) async throws {
        try await opens(try DecryptKeys.seal(Self.text, .jwe, "k1") { $0.encryption = encryption })
    }

    @Test("The sealer uses the first key that fits the chosen alg and enc")
    func chosen() async throws {
        let uses: [(KeyUse, Int?)] = [(.direct, 32), (.direct, 16), (.wrap256, nil), (.agreement, nil)]
        let keys = try uses.map { try KeyGenerator.text($0, name: nil, count: $1) }
        let set = "{\"keys\":[\(keys.joined(separator: ","))]}"
        let fixture = try DecryptFixture(keys: set)
        let ring = KeyRing(try KeySetReader(Array(set.utf8)).keys)
        func sealed(_ algorithm: String?, _ encryption: String?) throws -> String {
            var choices = Sealer.Choices()
            choices.algorithm = algorithm
            choices.encryption = encryption
            return try Sealer(choices).seal(Array(Self.text.utf8), as: .jwe, ring).text
        }
        let choices =
            [
                (nil, nil), (nil, "A128GCM"), ("A256KW", nil), ("A256KW", "A128GCM"), ("ECDH-ES+A128KW", nil),
            ] as [(String?, String?)]
        for (algorithm, encryption) in choices {
            try await expect(fixture.publish(try sealed(algorithm, encryption)).stages, is: "decrypt=ok")
        }
        for (algorithm, encryption) in [("A128KW", nil), ("dir", "A256CBC-HS512")] as [(String, String?)] {
            #expect(throws: DecryptFailure.noKey) { try sealed(algorithm, encryption) }
        }
        #expect(throws: DecryptFailure.unsupported) { try sealed("A512KW", nil) }
    }

    @Test("Every openssl key derivation works", arguments: [.md5, .sha256, .iterated(1000)] as [PassphraseDerivation])
    func openSSL(derivation: PassphraseDerivation) async throws {
        let sealed = try DecryptKeys.seal(Self.text, .openSSL, "pw") { $0.derivation = derivation }
        try await opens(sealed) { $0.derivation = derivation }
    }

    @Test(
        "A joined nonce, ciphertext and tag opens with the key that the message names",
        arguments: [("raw", .aesGCM), ("raw128", .aesGCM), ("cc", .chaCha20)] as [(String, SealingForm)])
    func combined(name: String, form: SealingForm) async throws {
        let sealed = try DecryptKeys.seal(Self.text, form, name)
        try await opens(sealed, members: ",\"ENCRYPTION_KEY_ID\":\"\(name)\"")
    }

    @Test("Web push ciphertexts of the RFC and of the draft open")
    func webPush() async throws {
        try await opens(try DecryptKeys.seal(Self.text, .webPush, "push"))
        let sealed = try Sealer().seal(Array(Self.text.utf8), as: .webPushDraft, DecryptKeys.ring)
        let draft = try #require(sealed.draft)
        try await opens(sealed.text, members: ",\"k\":\"\(draft.point)\",\"s\":\"\(draft.salt)\"")
    }

    @Test("Web push texts around and above the usual record size open", arguments: [4_070, 4_096, 5_000])
    func longWebPush(count: Int) async throws {
        let text = String(repeating: "x", count: count)
        let fixture = try DecryptFixture(keys: DecryptKeys.text)
        let result = try await fixture.publish(try DecryptKeys.seal(text, .webPush, "push"))
        // The payload is shortened afterwards.
        #expect(result.stages == "decrypt=ok" && result.body?.hasPrefix("xxx") == true)
    }

    @Test("Texts of every length from 0 to 70 bytes open")
    func lengths() async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text)
        for count in 0...70 {
            let text = String(repeating: "x", count: count)
            for (form, name) in [(.jwe, "k1"), (.openSSL, "pw"), (.webPush, "push")] as [(SealingForm, String)] {
                let sealed = try DecryptKeys.seal(text, form, name)
                try await expect(fixture.publish(sealed).body, is: text, "\(form) of \(count)")
            }
        }
    }

    @Test("rot13 decodes fields in place")
    func rot13() async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text) { options in
            options.formats = [.rot13]
            options.fields = ["/aps/alert/title", "/aps/alert/body", "/chat/name", "/none"].compactMap {
                JSONPointer($0).map { DecryptOptions.Field(from: $0, to: .member($0)) }
            }
        }
        let result = try await fixture.publish(
            Message(
                #"{"aps":{"alert":{"title":"Frperg","body":"Uryyb, jbeyq!"},"mutable-content":1},"chat":{"name":"Obo"}}"#
            ))
        expect(result.stages, is: "decrypt=ok")
        expect(result.content.title, is: "Secret")
        expect(result.body, is: "Hello, world!")
        expect(result.content.string(at: try #require(JSONPointer("/chat/name"))), is: "Bob")
    }
}
