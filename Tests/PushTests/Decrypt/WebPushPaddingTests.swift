import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload
@testable import PushmillStages

/// The padding beside the text in a web push record.
@Suite("Web push padding")
struct WebPushPaddingTests {
    private static let text = Array("hello".utf8)

    /// Publishes a record with these bytes, sealed for the key set's pair in the RFC's or the draft's form.
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

    @Test("In the RFC form, a 2 and any number of zeros follow the text", arguments: [0, 1, 100])
    func standard(zeros: Int) async throws {
        let record = Self.text + [2] + [UInt8](repeating: 0, count: zeros)
        let result = try await publish(record, isDraft: false)
        #expect(result.stages == "decrypt=ok" && result.body == "hello")
    }

    @Test(
        "A record that is longer than its declared size is unsupported",
        arguments: [(22, "ok"), (23, "ok"), (21, "failed:unsupported")])
    func size(size: UInt32, result: String) async throws {
        // Text, delimiter and tag are 22 bytes.
        try await expect(publish(Self.text + [2], isDraft: false, size: size).stages, is: "decrypt=\(result)")
    }

    @Test(
        "A record without the last record's delimiter is rejected",
        arguments: [[], [1], [2, 1], [0]] as [[UInt8]])
    func noDelimiter(_ end: [UInt8]) async throws {
        let record = end == [0] ? [0, 0] : Self.text + end
        try await expect(publish(record, isDraft: false).stages, is: "decrypt=failed:authentication")
    }

    @Test("In the draft form, the number of zeros and the zeros precede the text", arguments: [0, 1, 256, 300])
    func draft(zeros: Int) async throws {
        let record = [UInt8(zeros >> 8), UInt8(zeros & 255)] + [UInt8](repeating: 0, count: zeros) + Self.text
        let result = try await publish(record, isDraft: true)
        #expect(result.stages == "decrypt=ok" && result.body == "hello")
    }

    @Test("Padding alone opens to an empty text", arguments: [0, 3])
    func nothing(zeros: Int) async throws {
        let record = [0, UInt8(zeros)] + [UInt8](repeating: 0, count: zeros)
        let result = try await publish(record, isDraft: true)
        #expect(result.stages == "decrypt=ok" && result.body == "")
    }

    @Test(
        "Draft padding that is not all zeros or exceeds the record is rejected",
        arguments: [[], [0], [0, 1], [0, 3, 0, 0], [1, 0, 0], [0, 2, 0, 1, 0x61], [0, 2, 1, 0, 0x61]] as [[UInt8]])
    func wrongPadding(_ record: [UInt8]) async throws {
        try await expect(publish(record, isDraft: true).stages, is: "decrypt=failed:authentication")
    }
}
