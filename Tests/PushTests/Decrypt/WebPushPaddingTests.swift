import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload
@testable import PushmillStages

/// What stands in a record of web push beside the text.
@Suite("Padding of web push")
struct WebPushPaddingTests {
    private static let text = Array("hello".utf8)

    /// A record with these bytes in it, sealed for the key set's pair, as the RFC or as the draft has it.
    private func publish(_ record: [UInt8], isDraft: Bool, size: UInt32? = nil) async throws -> Decrypted {
        let fixture = try DecryptFixture(keys: DecryptKeys.text)
        let key = try #require(DecryptKeys.ring.keys.first { $0.use == .webPush })
        let context = try SealingContext()
        let pair = try EllipticKey.generate().key
        let salt = try context.random(WebPushForm.saltCount)
        try WebPushAgreement.derive(
            pair, with: try #require(key.pair).point, isReceiver: false, key.secret, salt, isDraft: isDraft,
            &context.scratch)
        let contentKey = Array(UnsafeRawBufferPointer(start: context.scratch.secrets[.contentKey], count: 16))
        let nonce = Array(UnsafeRawBufferPointer(start: context.scratch.secrets[.nonce], count: Cipher.nonceCount))
        let sealed = try context.seal(.aes128GCM, key: contentKey, nonce: nonce, record)
        let data = sealed.text + sealed.tag
        guard isDraft else {
            let size = withUnsafeBytes(of: (size ?? UInt32(data.count)).bigEndian) { Array($0) }
            return try await fixture.publish(SealedText(salt + size + [65] + pair.point + data).text)
        }
        let members = ",\"k\":\"\(Base64.urlText(pair.point))\",\"s\":\"\(Base64.urlText(salt))\""
        return try await fixture.publish(SealedText(data).text, members: members)
    }

    @Test("Behind the text stands a 2 and any number of zeros", arguments: [0, 1, 100])
    func standard(zeros: Int) async throws {
        let record = Self.text + [2] + [UInt8](repeating: 0, count: zeros)
        let result = try await publish(record, isDraft: false)
        #expect(result.stages == "decrypt=ok" && result.body == "hello")
    }

    @Test(
        "A record is as long as its size says at most",
        arguments: [(22, "ok"), (23, "ok"), (21, "failed:unsupported")])
    func size(size: UInt32, result: String) async throws {
        // Text, delimiter and tag are 22 bytes.
        try await expect(publish(Self.text + [2], isDraft: false, size: size).stages, is: "decrypt=\(result)")
    }

    @Test(
        "Without a delimiter, or with that of a record that is not the last, it is refused",
        arguments: [[], [1], [2, 1], [0]] as [[UInt8]])
    func noDelimiter(_ end: [UInt8]) async throws {
        let record = end == [0] ? [0, 0] : Self.text + end
        try await expect(publish(record, isDraft: false).stages, is: "decrypt=failed:authentication")
    }

    @Test("In the draft the number of zeros stands before them", arguments: [0, 1, 256, 300])
    func draft(zeros: Int) async throws {
        let record = [UInt8(zeros >> 8), UInt8(zeros & 255)] + [UInt8](repeating: 0, count: zeros) + Self.text
        let result = try await publish(record, isDraft: true)
        #expect(result.stages == "decrypt=ok" && result.body == "hello")
    }

    @Test("Padding alone is an empty text", arguments: [0, 3])
    func nothing(zeros: Int) async throws {
        let record = [0, UInt8(zeros)] + [UInt8](repeating: 0, count: zeros)
        let result = try await publish(record, isDraft: true)
        #expect(result.stages == "decrypt=ok" && result.body == "")
    }

    @Test(
        "Padding that is not all zeros, or longer than the record, is refused",
        arguments: [[], [0], [0, 1], [0, 3, 0, 0], [1, 0, 0], [0, 2, 0, 1, 0x61], [0, 2, 1, 0, 0x61]] as [[UInt8]])
    func wrongPadding(_ record: [UInt8]) async throws {
        try await expect(publish(record, isDraft: true).stages, is: "decrypt=failed:authentication")
    }
}
