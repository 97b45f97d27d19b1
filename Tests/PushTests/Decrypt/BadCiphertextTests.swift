import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload

@Suite("Ciphertexts that must not open")
struct BadCiphertextTests {
    private func fails(_ bad: BadCiphertext) async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text, bad.change)
        let result = try await fixture.publish(bad.text)
        expect(result.stages, is: "decrypt=failed:\(bad.reason.reason)")
        expect(result.body, is: "(Encrypted)")
        expect(result.content.title, is: "T")
        expect(result.ciphertext, is: bad.text)
    }

    @Test("A bad JWE fails, shows the placeholder and keeps its ciphertext", arguments: try BadCiphertext.jwe())
    func jwe(bad: BadCiphertext) async throws { try await fails(bad) }

    @Test("A bad JWE does not affect good ones before and after it", arguments: try BadCiphertext.jwe())
    func between(bad: BadCiphertext) async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text, bad.change)
        let good = try DecryptKeys.seal("x", .jwe, "k1")
        let before = try await fixture.publish(good).body
        try await expect(fixture.publish(bad.text).stages, is: "decrypt=failed:\(bad.reason.reason)")
        try await expect(fixture.publish(good).body, is: before)
    }

    @Test("Bad ciphertexts of other forms fail, show the placeholder and stay", arguments: try BadCiphertext.forms())
    func forms(bad: BadCiphertext) async throws { try await fails(bad) }

    @Test("A ciphertext whose plaintext cannot be shown fails and stays", arguments: try BadCiphertext.plaintexts())
    func plaintexts(bad: BadCiphertext) async throws {
        // Bypasses the chain: some are too large to be published.
        let fixture = try DecryptFixture(keys: DecryptKeys.text, bad.change)
        var content = try NotificationContent(
            #"{"aps":{"alert":"?","mutable-content":1},"ENCRYPTED_DATA":"\#(bad.text)"}"#)
        let result = try await fixture.stage.didReceive(&content, context: fixture.context)
        expect(result, is: .failed(bad.reason.reason))
        expect(content.body, is: "(Encrypted)")
        expect(content.string(at: JSONPointer(member: "ENCRYPTED_DATA")), is: bad.text)
    }

    @Test("A valid zip opens")
    func zip() async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text)
        let text = try DecryptKeys.direct(
            #"{"alg":"dir","enc":"A256GCM","kid":"k1","zip":"DEF"}"#, content: BadCiphertext.zipped)
        try await expect(fixture.publish(text).body, is: "inflated, inflated, inflated")
    }

    @Test("A ciphertext member that is not a string is malformed", arguments: ["1", "{}", #"["eyJ"]"#, "true"])
    func kinds(value: String) async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text)
        let payload = #"{"aps":{"alert":"?","mutable-content":1},"ENCRYPTED_DATA":\#(value)}"#
        let result = try await fixture.publish(Message(payload))
        expect(result.stages, is: "decrypt=failed:malformed")
        expect(result.body, is: "(Encrypted)")
    }

    @Test("A null ciphertext member counts as absent")
    func null() async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text)
        let payload = #"{"aps":{"alert":"?","mutable-content":1},"ENCRYPTED_DATA":null}"#
        let result = try await fixture.publish(Message(payload))
        expect(result.stages, is: "decrypt=skipped")
        expect(result.body, is: "?")
    }

    @Test("A ciphertext without a fitting key fails", arguments: DecryptKeys.uses.map(\.key).filter { $0 != "k3" })
    func noKey(name: String) async throws {
        let fixture = try DecryptFixture(keys: "{\"keys\":[\(try KeyGenerator.text(.wrap128, name: "k3"))]}")
        let form = try #require(DecryptKeys.form(of: name))
        let result = try await fixture.publish(try DecryptKeys.seal("x", form, name))
        expect(result.stages, is: "decrypt=failed:no-key")
    }
}
