import PushmillStores
import PushmillTestSupport
import Testing

@Suite("Hashes of accounts")
struct AccountSecretTests {
    /// Computed by OpenSSL, with the key 00 01 .. 0f, for that many bytes 00 01 ...
    @Test(
        "Account hashes are SipHash-2-4 of 128 bits",
        arguments: [
            (0, "A3817F04BA25A8E66DF67214C7550293"), (1, "DA87C1D86B99AF44347659119B22FC45"),
            (8, "3B62A9BA6258F5610F83E264F31497B4"), (15, "5493E99933B0A8117E08EC0F97CFC3D9"),
            (30, "EA5C7F471FAF6BDE2B1AD7D4686D2287"),
        ])
    func vectors(count: Int, expected: String) {
        let secret = AccountSecret(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908)
        let hash = (0..<UInt8(count)).map { $0 }.withUnsafeBytes { secret.hash($0) }
        let bytes = [hash.high.littleEndian, hash.low.littleEndian].withUnsafeBytes { Array($0) }
        let text = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined().uppercased()
        expect(text, is: expected)
    }
}
