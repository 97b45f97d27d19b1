import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload
@testable import PushmillStages

@Suite("Ciphertext size limits and interleaved keys")
struct CiphertextLimitTests {
    private static let limit = 64 << 10

    /// Bypasses the chain, which does not publish large messages.
    private func open(_ text: String, _ change: (inout DecryptOptions) -> Void = { _ in }) async throws -> String {
        let fixture = try DecryptFixture(keys: DecryptKeys.text, change)
        var content = try NotificationContent(#"{"aps":{"alert":"?","mutable-content":1},"ENCRYPTED_DATA":"\#(text)"}"#)
        let result = try await fixture.stage.didReceive(&content, context: fixture.context)
        return result == .ok ? "ok \(content.body?.utf8.count ?? 0)" : result.description
    }

    private func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    @Test("A plaintext of more than 64 KiB is rejected, in JWE, rot13 and openssl", arguments: [0, 1, 15, 16, 17])
    func plaintext(over: Int) async throws {
        let text = text(Self.limit + over)
        let (okay, large) = ("ok \(Self.limit)", "failed:too-large")
        try await expect(open(try DecryptKeys.seal(text, .jwe, "k1")), is: (over == 0 ? okay : large))
        try await expect(open(text) { $0.formats = [.rot13] }, is: (over == 0 ? okay : large))
        // openssl is not authenticated: only a ciphertext with a block too many fails as too large.
        let blocks = try await open(try DecryptKeys.seal(text, .openSSL, "pw"))
        expect(blocks, is: (over == 0 ? okay : over < 16 ? "failed:authentication" : large))
    }

    /// Raw DEFLATE with stored (uncompressed) blocks.
    private func stored(_ count: Int) -> [UInt8] {
        var (bytes, left): ([UInt8], Int) = ([], count)
        while left > 0 {
            let length = min(left, 40_000)
            left -= length
            let (low, high) = (UInt8(length & 255), UInt8(length >> 8))
            bytes += [left == 0 ? 1 : 0, low, high, ~low, ~high] + [UInt8](repeating: 0x78, count: length)
        }
        return bytes
    }

    @Test("A zip inflates to at most 64 KiB", arguments: [(limit, "ok \(limit)"), (limit + 1, "failed:too-large")])
    func zip(count: Int, result: String) async throws {
        let header = #"{"alg":"dir","enc":"A256GCM","kid":"k1","zip":"DEF"}"#
        try await expect(open(try DecryptKeys.direct(header, content: stored(count))), is: result)
    }

    @Test(
        "A ciphertext has at most 131,072 characters, twice the plaintext limit",
        arguments: [(131_072, "authentication"), (131_073, "too-large")])
    func ciphertext(count: Int, reason: String) async throws {
        let text = String(repeating: "A", count: count)
        try await expect(open(text) { $0.formats = [.aesGCM] }, is: "failed:\(reason)")
    }

    @Test("A nonce and a tag alone open to an empty text; one byte less is malformed")
    func shortest() async throws {
        let sealed = BinaryText.bytes(Array(try DecryptKeys.seal("", .aesGCM, "raw").utf8).span)
        expect(sealed.count, is: 28)
        try await expect(open(SealedText(sealed).text) { $0.formats = [.aesGCM] }, is: "ok 0")
        try await expect(open(SealedText(sealed.dropLast()).text) { $0.formats = [.aesGCM] }, is: "failed:malformed")
    }

    @Test("Ciphertexts open in any order: cached keys and ciphers do not interfere")
    func interleaved() async throws {
        var keys: [String] = []
        for number in 0..<20 {
            for use in [KeyUse.direct, .wrap128, .wrap256, .gcmWrap256, .agreement] {
                keys.append(try KeyGenerator.text(use, name: "k\(number)", count: nil))
            }
        }
        let text = "{\"keys\":[\(keys.joined(separator: ","))]}"
        let ring = KeyRing(try KeySetReader(Array(text.utf8)).keys)
        let fixture = try DecryptFixture(keys: text)
        var sealed: [(text: String, body: String)] = []
        for (number, key) in ring.keys.enumerated() {
            var choices = Sealer.Choices()
            let own = KeyRing([key])
            for encryption in key.use == .direct ? ["A256GCM", "A128CBC-HS256"] : ["A128GCM", "A256CBC-HS512"] {
                choices.encryption = encryption
                let body = "\(number) \(encryption) " + String(repeating: "x", count: number)
                sealed.append((try Sealer(choices).seal(Array(body.utf8), as: .jwe, own).text, body))
            }
        }
        var random = SeededGenerator(seed: 5)
        for _ in 0..<600 {
            let (text, body) = random.pick(sealed)
            let result = try await fixture.publish(text)
            #expect(result.body == body && result.stages == "decrypt=ok")
        }
    }
}

@Suite("Memory that holds secrets")
struct SecretMemoryTests {
    @Test("A buffer that is cleared or reserved again contains only zeros", arguments: [100, 5000])
    func buffer(count: Int) {
        var buffer = ScratchBuffer()
        for isCleared in [true, false] {
            buffer.reserve(count)
            buffer[0..<count].initializeMemory(as: UInt8.self, repeating: 7)
            #expect(buffer[0..<count].allSatisfy { $0 == 7 })
            if isCleared { buffer.clear() }
            buffer.reserve(count)
            #expect(buffer[0..<count].allSatisfy { $0 == 0 })
        }
    }

    @Test("Secret cells do not overlap and are cleared together")
    func cells() {
        var cells = SecretCells()
        for cell in SecretCells.Cell.allCases {
            cells[cell].initializeMemory(as: UInt8.self, repeating: UInt8(cell.rawValue + 1), count: 64)
        }
        for cell in SecretCells.Cell.allCases {
            let bytes = UnsafeRawBufferPointer(start: cells[cell], count: 64)
            #expect(bytes.allSatisfy { $0 == UInt8(cell.rawValue + 1) })
        }
        cells.clear()
        for cell in SecretCells.Cell.allCases {
            #expect(UnsafeRawBufferPointer(start: cells[cell], count: 64).allSatisfy { $0 == 0 })
        }
    }

    @Test(
        "Every byte of a MAC is compared, and one longer than the hash is rejected",
        arguments: [KeyedDigest.Algorithm.sha256, .sha512])
    func code(algorithm: KeyedDigest.Algorithm) throws {
        let digest = try KeyedDigest(algorithm)
        let key = [UInt8](repeating: 1, count: 32)
        func begin() throws {
            try key.withUnsafeBytes { try digest.begin($0) }
            try digest.add(Array("text".utf8))
        }
        var room = [UInt8](repeating: 0, count: 128)
        var code = [UInt8](repeating: 0, count: algorithm.count)
        try begin()
        try code.withUnsafeMutableBytes { code in
            if let start = code.baseAddress { try digest.end(into: start) }
        }
        func isRight(_ expected: [UInt8]) throws -> Bool {
            var expected = expected
            try begin()
            return room.withUnsafeMutableBytes { room in
                expected.withUnsafeMutableBytes { expected in
                    guard let start = room.baseAddress else { return false }
                    return (try? digest.end(expecting: expected, room: start)) != nil
                }
            }
        }
        #expect(try isRight(code) && isRight(Array(code[..<16])))
        #expect(try !isRight(code + [0]))
        for place in [0, 15, code.count - 1] {
            var changed = code
            changed[place] ^= 1
            #expect(try !isRight(changed))
        }
    }
}
