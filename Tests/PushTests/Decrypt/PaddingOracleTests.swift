import FoundationEssentials
import TestSupport
import Testing

@testable import Push

/// (trust 1) What nothing authenticates fails in one way only.
@Suite("Ciphertexts that are tried out")
struct PaddingOracleTests {
    private let decryptor = Decryptor([.openSSL], .sha256)

    /// What the service would count; nil where it opens.
    private func reason(_ data: [UInt8], _ scratch: inout DecryptScratch) -> DecryptFailure? {
        let text = Array(SealedText(data).text.utf8)
        do throws(DecryptFailure) {
            _ = try text.span.withUnsafeBytes { (text) throws(DecryptFailure) in
                try decryptor.open(text, &scratch, DecryptKeys.ring, []) { (need, ring) throws(DecryptFailure) in
                    guard let key = ring.key(for: need) else { throw .noKey }
                    return key
                } draft: {
                    nil
                }
            }
            return nil
        } catch {
            return error
        }
    }

    private func sealed(_ text: [UInt8]) throws -> [UInt8] {
        let text = try Sealer().seal(text, as: .openSSL, DecryptKeys.ring).text
        return Array(text.utf8).withUnsafeBufferPointer { BinaryText.bytes($0.span) }
    }

    @Test("All variations of the byte before the last block fail for the same reason")
    func variations() throws {
        var scratch = try DecryptScratch()
        // Bytes that are no UTF-8 whatever the padding is.
        let data = try sealed([UInt8](repeating: 0xFF, count: 40))
        for value in UInt8.min...UInt8.max {
            var data = data
            data[data.count - 17] = value
            #expect(reason(data, &scratch) == .authentication)
        }
    }

    @Test("Whatever is tampered with fails for the same reason, also cut short")
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
        #expect(reasons.keys.map(\.self) == [.authentication])
    }

    @Test("An object that may not be merged is nobody's to know of", arguments: ["[1]", #"{"aps":1}"#, #"{"body":1}"#])
    func merged(plaintext: String) async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text) { $0.fields = [.init(to: .merge)] }
        let sealed = try DecryptKeys.seal(plaintext, .openSSL, "pw")
        #expect(try await fixture.publish(sealed).stages == "decrypt=failed:authentication")
    }

    @Test("Only what is authenticated is read where no form is named")
    func standard() {
        #expect(DecryptOptions().formats == [.jwe, .aesGCM, .chaCha20, .webPush])
    }

    @Test("Wycheproof's paddings: right ones are taken off, all others leave everything")
    func published() throws {
        let file = URL(filePath: #filePath).appending(path: "../../../interop/aes_cbc_pkcs5.json")
        let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file.standardized)).tests
        #expect(vectors.count == 144)
        for vector in vectors {
            let key = SecretBytes(Vector.bytes(vector.key))
            let cipher: Cipher = key.count == 16 ? .aes128CBC : .aes256CBC
            let scratch = try DecryptScratch()
            let context = scratch.ciphers[cipher, CipherKey(key.bytes)]
            var text = Vector.bytes(vector.ct)
            let opened = Vector.bytes(vector.iv).withUnsafeBytes { iv in
                text.withUnsafeMutableBytes { text in
                    iv.baseAddress.flatMap { try? context.openBlocks(cipher, CipherKey(key.bytes), iv: $0, text) }
                }
            }
            let isValid = vector.result == "valid"
            // Without any block there is nothing to open.
            #expect(opened?.isPadded ?? false == isValid, "\(vector.tcId)")
            guard let opened else { continue }
            #expect(opened.count == (isValid ? vector.msg.utf8.count / 2 : text.count), "\(vector.tcId)")
            if isValid { #expect(Array(text[..<opened.count]) == Vector.bytes(vector.msg), "\(vector.tcId)") }
        }
    }

    private struct Vectors: Decodable { let tests: [Vector] }

    private struct Vector: Decodable {
        let tcId: Int
        let key, iv, msg, ct, result: String

        static func bytes(_ hex: String) -> [UInt8] {
            Array(hex.utf8).withUnsafeBufferPointer { BinaryText.bytes($0.span) }
        }
    }
}
