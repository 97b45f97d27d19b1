import FoundationEssentials
import Glibc
import PushmillTestSupport
import Testing

@Suite("Interop with openssl enc", .enabled(if: access("/usr/bin/openssl", X_OK) == 0, "openssl is not installed"))
struct OpenSSLTests {
    struct Derivation: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let ours: String
        let setting: String
        let theirs: String
    }

    private static let derivations = [
        Derivation(
            testDescription: "MD5", ours: "--digest md5", setting: "digest: md5", theirs: "-md md5"),
        Derivation(testDescription: "SHA-256", ours: "", setting: "digest: sha256", theirs: "-md sha256"),
        Derivation(
            testDescription: "PBKDF2", ours: "--iterations 10000", setting: "iterations: 10000",
            theirs: "-md sha256 -pbkdf2 -iter 10000"),
    ]
    private static let text = "Grüße 👋🏽, \"see you\" at 12, where it is written on the wall over there"

    private func passphrase(_ keys: KeyFolder) throws -> String {
        let encoded = try #require(try keys.set().key("pw")["k"])
        let base64 = encoded.replacing("-", with: "+").replacing("_", with: "/")
        let padded = base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        return String(decoding: try #require(Data(base64Encoded: padded)), as: UTF8.self)
    }

    @Test("Text that openssl encrypts decrypts here, in one line or in several", arguments: derivations, ["-A", ""])
    func theirs(derivation: Derivation, lines: String) async throws {
        let keys = try KeyFolder("formats: [openssl], openssl: { \(derivation.setting) }")
        try await keys.generate("openssl --kid pw")
        try keys.folder.write("plain", Self.text)
        let sealed = try Tool.run(
            "openssl enc -aes-256-cbc -base64 \(lines) \(derivation.theirs) -pass pass:'\(passphrase(keys))'",
            input: "\(keys.folder.path)/plain")
        try await expect(keys.decrypt(sealed, derivation.ours), is: Self.text)
        try await expect(keys.body(sealed), is: Self.text)
    }

    @Test("openssl decrypts text that we encrypt", arguments: derivations)
    func ours(derivation: Derivation) async throws {
        let keys = try KeyFolder()
        try await keys.generate("openssl --kid pw")
        try keys.folder.write("sealed", try await keys.encrypt(Self.text, "openssl \(derivation.ours)"))
        let opened = try Tool.run(
            "openssl enc -d -aes-256-cbc -base64 -A \(derivation.theirs) -pass pass:'\(passphrase(keys))'",
            input: "\(keys.folder.path)/sealed")
        expect(opened, is: Self.text)
    }
}
