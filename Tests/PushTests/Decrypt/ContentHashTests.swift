import PushmillTestSupport
import Testing

@testable import PushmillCiphers

@Suite("Content hashes")
struct ContentHashTests {
    @Test(
        "A content's hash is its SHA-256 in hex, however it is split",
        arguments: [
            ([], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (["abc"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (["a", "", "bc"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ])
    func pieces(_ texts: [String], _ expected: String) throws {
        let hash = try ContentHash()
        for text in texts { Array(text.utf8).withUnsafeBytes { hash.add($0) } }
        expect(hash.end(), is: expected)
    }
}
