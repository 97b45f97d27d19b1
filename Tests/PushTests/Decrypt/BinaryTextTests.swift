import FoundationEssentials
import TestSupport
import Testing

@testable import Push

@Suite("Binary as text")
struct BinaryTextTests {
    private func decode(_ text: String) -> [UInt8]? {
        let text = Array(text.utf8)
        let output = UnsafeMutableRawPointer.allocate(byteCount: text.count + 1, alignment: 1)
        defer { output.deallocate() }
        guard let count = text.withUnsafeBytes({ try? BinaryText.decode($0, into: output) }) else { return nil }
        return Array(UnsafeRawBufferPointer(start: output, count: count))
    }

    @Test("Every length in every spelling")
    func lengths() throws {
        var random = SeededGenerator(seed: 1)
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            let base64 = Data(bytes).base64EncodedString()
            let bare = Base64.urlText(bytes)
            let hex = bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
            let lines = String(base64.enumerated().flatMap { $0 > 0 && $0 % 64 == 0 ? ["\r", "\n", $1] : [$1] })
            for text in [base64, bare, hex, hex.uppercased(), lines, base64 + "\n"] {
                // A few letters may be both; that is hex.
                guard count > 8 || text != bare && text != base64 else { continue }
                #expect(decode(text) == bytes, "\(text)")
            }
            #expect(try BinaryText.bytes(ofBare: bare) == bytes)
            #expect(SealedText(bytes).text == base64)
        }
    }

    @Test(
        "What no encoder writes",
        arguments: [
            "A", "AAAAA", "=", "A===", "AA=A", "AAA==", "AA===", "AAAA=", "AB==", "AAB=", "A A=", "AA==AA==", "é===",
            "AAAA\0", "AAA.", "zz\u{7F}z",
        ])
    func malformed(text: String) { #expect(decode(text) == nil) }

    @Test("Parts of a JWE have neither padding nor line breaks", arguments: ["AA==", "AAAA\n", "AA\nAA", "AAAA="])
    func bare(text: String) { #expect(throws: DecryptFailure.malformed) { try BinaryText.bytes(ofBare: text) } }

    @Test("UTF-8 is told from what is not")
    func text() {
        func isText(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes(UTF8Scalar.isText) }
        var random = SeededGenerator(seed: 2)
        for _ in 0..<20_000 {
            var bytes = Array("Grüße 👋🏽 at 12, \u{FFFF}\u{10FFFF}é".utf8)
            random.mutate(&bytes)
            #expect(isText(bytes) == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
        }
        #expect(isText([]))
    }
}
