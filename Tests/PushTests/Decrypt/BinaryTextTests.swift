import FoundationEssentials
import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload

@Suite("Binary data as text")
struct BinaryTextTests {
    private func decode(_ text: String, as encoding: BinaryEncoding = .auto) -> [UInt8]? {
        let text = Array(text.utf8)
        let output = UnsafeMutableRawPointer.allocate(byteCount: text.count + 1, alignment: 1)
        defer { output.deallocate() }
        guard let count = text.withUnsafeBytes({ try? BinaryText.decode($0, as: encoding, into: output) }) else {
            return nil
        }
        return Array(UnsafeRawBufferPointer(start: output, count: count))
    }

    @Test("Bytes of every length decode from every encoding")
    func lengths() throws {
        var random = SeededGenerator(seed: 1)
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            let base64 = Data(bytes).base64EncodedString()
            let bare = Base64.urlText(bytes)
            let hex = bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
            let lines = String(base64.enumerated().flatMap { $0 > 0 && $0 % 64 == 0 ? ["\r", "\n", $1] : [$1] })
            for text in [base64, bare, hex, hex.uppercased(), lines, base64 + "\n"] {
                // A few characters may be both hex and base64; they are read as hex.
                guard count > 8 || text != bare && text != base64 else { continue }
                expect(decode(text), is: bytes, "\(text)")
            }
            expect(decode(hex, as: .hex), is: bytes)
            expect(decode(base64, as: .base64), is: bytes)
            expect(decode(bare, as: .base64url), is: bytes)
            expect(decode(Z85.text(bytes), as: .z85), is: bytes)
            try expect(BinaryText.bytes(ofBare: bare), is: bytes)
            expect(SealedText(bytes).text, is: base64)
        }
    }

    @Test(
        "Text that no encoder writes is rejected",
        arguments: [
            "A", "AAAAA", "=", "A===", "AA=A", "AAA==", "AA===", "AAAA=", "AB==", "AAB=", "A A=", "AA==AA==", "é===",
            "AAAA\0", "AAA.", "zz\u{7F}z",
        ])
    func malformed(text: String) { #expect(decode(text) == nil) }

    @Test(
        "Text in another encoding than the named one is rejected",
        arguments: [
            ("abc", BinaryEncoding.hex), ("abcg", .hex), ("-_8=", .base64), ("+/8", .base64url), ("AAA.", .base64),
            ("A", .z85), ("HelloW", .z85), ("Hello World", .z85), ("#####", .z85), ("%nSc1", .z85), ("31", .z85),
            ("\"abc\"", .z85), ("é000", .z85),
        ])
    func misnamed(text: String, encoding: BinaryEncoding) { #expect(decode(text, as: encoding) == nil) }

    @Test(
        "z85 decodes as ZeroMQ defines it, with a shorter last group",
        arguments: [
            ("HelloWorld", [0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B]), ("%nSc0", [0xFF, 0xFF, 0xFF, 0xFF]),
            ("", []),
            ("30", [0xFF]), ("960", [0xFF, 0xFF]), ("0000002", [0, 0, 0, 0, 2]),
        ] as [(String, [UInt8])])
    func z85(text: String, bytes: [UInt8]) { expect(decode(text, as: .z85), is: bytes) }

    @Test("JWE parts with padding or line breaks are rejected", arguments: ["AA==", "AAAA\n", "AA\nAA", "AAAA="])
    func bare(text: String) { #expect(throws: DecryptFailure.malformed) { try BinaryText.bytes(ofBare: text) } }

    @Test("The text check accepts exactly valid UTF-8")
    func text() {
        func isText(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes(UTF8Scalar.isText) }
        var random = SeededGenerator(seed: 2)
        for _ in 0..<20_000 {
            var bytes = Array("Grüße 👋🏽 at 12, \u{FFFF}\u{10FFFF}é".utf8)
            random.mutate(&bytes)
            expect(isText(bytes), is: (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
        }
        #expect(isText([]))
        #expect(UTF8Scalar.isText(UnsafeRawBufferPointer(start: nil, count: 0)))
    }

    @Test(
        "Bytes after the end of a text do not complete its truncated last character",
        arguments: ["é", "漢", "👋", "0123456789abcdé", "0123456789abcdefé", "\u{800}", "\u{10000}", "\u{10FFFF}"])
    func cut(text: String) {
        let bytes = Array(text.utf8)
        bytes.withUnsafeBytes { bytes in
            for count in 0...bytes.count {
                let part = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                expect(UTF8Scalar.isText(part), is: (String(validating: part, as: UTF8.self) != nil), "\(count)")
            }
        }
    }
}
