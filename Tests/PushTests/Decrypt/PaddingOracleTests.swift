import FoundationEssentials
import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillStages

/// A ciphertext of a form without authentication fails in one way only.
@Suite("Padding oracle")
struct PaddingOracleTests {
    private let decryptor = Decryptor([.openSSL], .sha256)

    /// The plaintext, or the failure that the service would count.
    private func opened(_ data: [UInt8], _ scratch: inout DecryptScratch) -> Result<[UInt8], DecryptFailure> {
        let text = Array(SealedText(data).text.utf8)
        do throws(DecryptFailure) {
            let opened = try text.span.withUnsafeBytes { (text) throws(DecryptFailure) in
                try decryptor.open(text, &scratch, DecryptKeys.ring) { (need, ring) throws(DecryptFailure) in
                    guard let key = ring.key(for: need) else { throw .noKey }
                    return key
                } draft: {
                    nil
                }
            }
            guard case .text(let plaintext, _) = opened else { throw .malformed }
            return .success(Array(plaintext))
        } catch {
            return .failure(error)
        }
    }

    private func reason(_ data: [UInt8], _ scratch: inout DecryptScratch) -> DecryptFailure? {
        if case .failure(let reason) = opened(data, &scratch) { reason } else { nil }
    }

    private func sealed(_ text: [UInt8]) throws -> [UInt8] {
        let text = try Sealer().seal(text, as: .openSSL, DecryptKeys.ring).text
        return Array(text.utf8).withUnsafeBufferPointer { BinaryText.bytes($0.span) }
    }

    @Test("Every value of the byte before the last block fails for the same reason")
    func variations() throws {
        var scratch = try DecryptScratch()
        // The text is not UTF-8 whatever the padding is.
        let data = try sealed([UInt8](repeating: 0xFF, count: 40))
        for value in UInt8.min...UInt8.max {
            var data = data
            data[data.count - 17] = value
            expect(reason(data, &scratch), is: .authentication)
        }
    }

    /// For a million mutations: `PUSHMILL_MUTATIONS=1000000 deploy/test --filter PaddingOracleTests`.
    @Test("All failures of tampered and truncated ciphertexts have the same reason")
    func tampering() throws {
        var scratch = try DecryptScratch()
        let data = try sealed(Array("See you at 12, where it is written on the wall".utf8))
        var random = SeededGenerator(seed: 23)
        var reasons: [DecryptFailure: Int] = [:]
        for _ in 0..<Mutations.count {
            var data = data
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                data[Int.random(in: 8..<data.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if random.chance(8) { data.removeLast(Int.random(in: 1..<data.count - 8, using: &random)) }
            if let reason = reason(data, &scratch) { reasons[reason, default: 0] += 1 }
        }
        expect(reasons.keys.map(\.self), is: [.authentication])
    }

    @Test("Unmergeable openssl plaintexts count as unauthenticated", arguments: ["[1]", #"{"aps":1}"#, #"{"body":1}"#])
    func merged(plaintext: String) async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text) { $0.fields = [.init(to: .merge)] }
        let sealed = try DecryptKeys.seal(plaintext, .openSSL, "pw")
        try await expect(fixture.publish(sealed).stages, is: "decrypt=failed:authentication")
    }

    @Test("Only authenticated formats are allowed by default")
    func standard() {
        expect(DecryptOptions().formats, is: [.jwe, .aesGCM, .chaCha20, .webPush])
    }

    @Test("Valid Wycheproof paddings are removed, and invalid ones leave all bytes")
    func published() throws {
        let vectors = try Vectors.read()
        expect(vectors.count, is: 144)
        for vector in vectors {
            let (opened, text) = try vector.open()
            let isValid = vector.isValid
            // A ciphertext without a block has no result.
            expect(opened?.isPadded ?? false, is: isValid, "\(vector.tcId)")
            guard let opened else { continue }
            expect(opened.count, is: (isValid ? vector.msg.utf8.count / 2 : text.count), "\(vector.tcId)")
            if isValid { expect(Array(text[..<opened.count]), is: Vector.bytes(vector.msg), "\(vector.tcId)") }
        }
    }

    /// The form derives key and initialization vector from a passphrase and a salt, and cannot use the vectors' own. The
    /// test encrypts the vectors' padded blocks again with the derived ones.
    @Test("In openssl form, valid Wycheproof paddings show their text and all others fail for one reason")
    func publishedInTexts() throws {
        var scratch = try DecryptScratch()
        let context = try SealingContext()
        var shown = 0
        for vector in try Vectors.read() {
            let blocks = try vector.open().blocks
            let salt = try context.random(PassphraseDerivation.saltCount)
            let derived = try context.derived(DecryptKeys.secret("pw"), salt)
            // Encrypting appends a block of padding, which is dropped.
            let sealed = try context.encrypt(
                Cipher.aes256CBC.algorithm, key: Array(derived.prefix(32)), nonce: Array(derived.dropFirst(32)), blocks)
            let data = Array("Salted__".utf8) + salt + sealed.dropLast(Cipher.blockCount)
            let message = Vector.bytes(vector.msg)
            // A text that is not UTF-8 fails exactly as an invalid padding does.
            let isShown = vector.isValid && String(validating: message, as: UTF8.self) != nil
            let expected: Result<[UInt8], DecryptFailure> = isShown ? .success(message) : .failure(.authentication)
            expect(opened(data, &scratch), is: expected, "\(vector.tcId)")
            shown += isShown ? 1 : 0
        }
        #expect(shown > 1)
    }

    private struct Vectors: Decodable {
        let tests: [Vector]

        static func read() throws -> [Vector] {
            let file = URL(filePath: #filePath).appending(path: "../../../interop/aes_cbc_pkcs5.json")
            return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file.standardized)).tests
        }
    }

    private struct Vector: Decodable {
        let tcId: Int
        let key, iv, msg, ct, result: String

        var isValid: Bool { result == "valid" }

        /// The cipher's result, nil if there is no block, and the decrypted blocks with their padding.
        func open() throws -> (opened: (count: Int, isPadded: Bool)?, blocks: [UInt8]) {
            let key = SecretBytes(Vector.bytes(key))
            let cipher: Cipher = key.count == 16 ? .aes128CBC : .aes256CBC
            var scratch = try DecryptScratch()
            let cipherKey = CipherKey(key.bytes)
            var blocks = Vector.bytes(ct)
            let opened = Vector.bytes(iv).withUnsafeBytes { iv in
                blocks.withUnsafeMutableBytes { text in
                    withExtendedLifetime(key) {
                        iv.baseAddress.flatMap { iv in
                            try? scratch.ciphers[cipher, cipherKey].openBlocks(cipher, cipherKey, iv: iv, text)
                        }
                    }
                }
            }
            return (opened, blocks)
        }

        static func bytes(_ hex: String) -> [UInt8] {
            Array(hex.utf8).withUnsafeBufferPointer { BinaryText.bytes($0.span) }
        }
    }
}

extension SealingContext {
    /// The key and the initialization vector that the form derives.
    fileprivate func derived(_ passphrase: [UInt8], _ salt: [UInt8]) throws -> [UInt8] {
        let room = scratch.secrets[.contentKey]
        let number = salt.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        try PassphraseDerivation.sha256.derive(SecretBytes(passphrase), salt: number, into: room)
        return Array(UnsafeRawBufferPointer(start: room, count: PassphraseDerivation.count))
    }
}
