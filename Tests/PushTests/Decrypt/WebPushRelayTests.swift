import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload
@testable import PushmillStages

@Suite("Web push as forwarded by relays")
struct WebPushRelayTests {
    /// A message of the older form (the draft's), as bytes.
    private struct Sealed {
        let text: [UInt8]
        let point: [UInt8]
        let salt: [UInt8]

        init(_ text: String) throws {
            let sealed = try Sealer().seal(Array(text.utf8), as: .webPushDraft, DecryptKeys.ring)
            let draft = try #require(sealed.draft)
            self.text = BinaryText.bytes(Array(sealed.text.utf8).span)
            point = try BinaryText.bytes(ofBare: draft.point)
            salt = try BinaryText.bytes(ofBare: draft.salt)
        }
    }

    private static let relay = { @Sendable (options: inout DecryptOptions) in
        options.fields = [DecryptOptions.Field(from: JSONPointer(member: "p"), encoding: .z85)]
        options.draft.point.encoding = .z85
        options.draft.salt.encoding = .z85
    }

    private func payload(_ members: KeyValuePairs<String, String>) -> String {
        let members = members.map { ",\"\($0)\":\"\($1)\"" }.joined()
        return #"{"aps":{"alert":{"title":"T","body":"?"},"mutable-content":1}\#(members)}"#
    }

    @Test("A message entirely in z85 opens, even if it has four dots like a JWE")
    func z85() async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text, Self.relay)
        var withFourDots = 0
        for number in 0..<200 {
            let body = String(repeating: "x", count: number)
            let sealed = try Sealed(body)
            let text = Z85.text(sealed.text)
            if text.count(where: { $0 == "." }) == 4 { withFourDots += 1 }
            let members: KeyValuePairs = ["p": text, "k": Z85.text(sealed.point), "s": Z85.text(sealed.salt)]
            let result = try await fixture.publish(Message(payload(members)))
            expect(result.stages, is: "decrypt=ok", "\(text)")
            expect(result.body, is: body)
        }
        #expect(withFourDots > 0)
    }

    @Test("The RFC form opens in every encoding; a broken text is malformed", arguments: BinaryEncoding.allCases)
    func encodings(encoding: BinaryEncoding) async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text) {
            $0.fields = [DecryptOptions.Field(from: JSONPointer(member: "p"), encoding: encoding)]
        }
        let base64 = try DecryptKeys.seal("hello", .webPush, "push")
        let bytes = BinaryText.bytes(Array(base64.utf8).span)
        let text =
            switch encoding {
            case .auto, .base64: base64
            case .base64url: Base64.urlText(bytes)
            case .hex: bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            case .z85: Z85.text(bytes)
            }
        try await expect(fixture.publish(Message(payload(["p": text]))).body, is: "hello")
        let broken = try await fixture.publish(Message(payload(["p": "\(text)~"])))
        expect(broken.stages, is: "decrypt=failed:malformed")
    }

    private static let inHeaders = { @Sendable (options: inout DecryptOptions) in
        options.draft.point.isInHeader = true
        options.draft.salt.isInHeader = true
    }

    @Test(
        "Point and salt are read from the draft form's unmodified header lines",
        arguments: [
            ("dh=DH;p256ecdsa=BAAA", "salt=SALT"), ("p256ecdsa=BAAA;dh=DH", "keyid=p256dh;salt=SALT"),
            ("keyid=a; DH=\\\"DH\\\" , p256ecdsa=x", "rs=4096; Salt=\\\"SALT\\\""), ("dh=DH,dh=x", "salt=SALT=="),
        ])
    func headerLines(point: String, salt: String) async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text, Self.inHeaders)
        let sealed = try Sealed("hello")
        let point = point.replacing("=DH", with: "=" + Base64.urlText(sealed.point))
            .replacing("\"DH", with: "\"" + Base64.urlText(sealed.point))
        let salt = salt.replacing("SALT", with: Base64.urlText(sealed.salt))
        let text = SealedText(sealed.text).text
        let result = try await fixture.publish(
            Message(payload(["ENCRYPTED_DATA": text, "k": point, "s": salt])))
        expect(result.stages, is: "decrypt=ok", "\(point) \(salt)")
        expect(result.body, is: "hello")
    }

    @Test("Record headers may hold the lines; a line without the value fails")
    func recordHeaders() async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text) {
            Self.inHeaders(&$0)
            $0.draft.point.from = .header(Array("crypto-key".utf8))
            $0.draft.salt.from = .header(Array("encryption".utf8))
        }
        let sealed = try Sealed("hello")
        let value = payload(["ENCRYPTED_DATA": SealedText(sealed.text).text])
        let (point, salt) = (Base64.urlText(sealed.point), Base64.urlText(sealed.salt))
        let headers: KeyValuePairs = ["crypto-key": "dh=\(point);p256ecdsa=BAAA", "encryption": "salt=\(salt)"]
        try await expect(fixture.publish(Message(value, headers)).body, is: "hello")
        for line in ["salts=\(salt)", "salt", "salt=", "=;,=", "\(salt)", ";"] {
            let headers: KeyValuePairs = ["crypto-key": "dh=\(point)", "encryption": line]
            let result = try await fixture.publish(Message(value, headers))
            expect(result.stages?.hasPrefix("decrypt=failed:"), is: true, "\(line)")
        }
    }

    @Test("The point and the salt in header lines may be in z85")
    func z85Headers() async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text) {
            Self.relay(&$0)
            Self.inHeaders(&$0)
        }
        let sealed = try Sealed("hello")
        let members: KeyValuePairs = [
            "p": Z85.text(sealed.text), "k": "dh=\(Z85.text(sealed.point))", "s": "salt=\(Z85.text(sealed.salt))",
        ]
        try await expect(fixture.publish(Message(payload(members))).body, is: "hello")
    }
}
