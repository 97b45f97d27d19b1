import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload
@testable import PushmillStages

@Suite("Ciphertexts of the largest size, and one after the other")
struct CiphertextLimitTests {
    private static let limit = 64 << 10

    /// Not through the chain: what is large is not published.
    private func open(_ text: String, _ change: (inout DecryptOptions) -> Void = { _ in }) async throws -> String {
        let fixture = try DecryptFixture(keys: DecryptKeys.text, change)
        var content = try NotificationContent(#"{"aps":{"alert":"?","mutable-content":1},"ENCRYPTED_DATA":"\#(text)"}"#)
        let result = try await fixture.stage.didReceive(&content, context: fixture.context)
        return result == .ok ? "ok \(content.body?.utf8.count ?? 0)" : result.description
    }

    private func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    @Test("A plaintext has 64 KiB at most, in every form", arguments: [0, 1, 15, 16, 17])
    func plaintext(over: Int) async throws {
        let text = text(Self.limit + over)
        let (okay, large) = ("ok \(Self.limit)", "failed:too-large")
        try await expect(open(try DecryptKeys.seal(text, .jwe, "k1")), is: (over == 0 ? okay : large))
        try await expect(open(text) { $0.formats = [.rot13] }, is: (over == 0 ? okay : large))
        // Nothing authenticates it: only what has a block too many is called large.
        let blocks = try await open(try DecryptKeys.seal(text, .openSSL, "pw"))
        expect(blocks, is: (over == 0 ? okay : over < 16 ? "failed:authentication" : large))
    }

    /// Raw DEFLATE, in blocks that are stored as they are.
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

    @Test("A zip inflates to 64 KiB at most", arguments: [(limit, "ok \(limit)"), (limit + 1, "failed:too-large")])
    func zip(count: Int, result: String) async throws {
        let header = #"{"alg":"dir","enc":"A256GCM","kid":"k1","zip":"DEF"}"#
        try await expect(open(try DecryptKeys.direct(header, content: stored(count))), is: result)
    }

    @Test(
        "A ciphertext has twice as many characters at most",
        arguments: [(131_072, "authentication"), (131_073, "too-large")])
    func ciphertext(count: Int, reason: String) async throws {
        let text = String(repeating: "A", count: count)
        try await expect(open(text) { $0.formats = [.aesGCM] }, is: "failed:\(reason)")
    }

    @Test("Nonce and tag alone are an empty text, and what is a byte shorter is nothing")
    func shortest() async throws {
        let sealed = BinaryText.bytes(Array(try DecryptKeys.seal("", .aesGCM, "raw").utf8).span)
        expect(sealed.count, is: 28)
        try await expect(open(SealedText(sealed).text) { $0.formats = [.aesGCM] }, is: "ok 0")
        try await expect(open(SealedText(sealed.dropLast()).text) { $0.formats = [.aesGCM] }, is: "failed:malformed")
    }

    @Test("Whatever came before, each opens: keys and ciphers do not get in each other's way")
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

@Suite("Memory of secrets")
struct SecretMemoryTests {
    @Test("A buffer that is used again, or cleared, has nothing of what it had", arguments: [100, 5000])
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

    @Test("Cells of keys are apart from each other, and cleared together")
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
        "A code is compared whole, and is as long as the hash at most",
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
