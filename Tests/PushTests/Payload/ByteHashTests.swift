import PushmillPayload
import PushmillTestSupport
import Testing

@Suite("Hashes of bytes")
struct ByteHashTests {
    @Test("Each byte of a key changes its hash, wherever it stands")
    func bytes() {
        for count in 1...80 {
            let key = [UInt8](0..<UInt8(count))
            var hashes: Set<UInt64> = [key.withUnsafeBytes { ByteHash.hash($0) }]
            for at in key.indices {
                var other = key
                other[at] ^= 1
                hashes.insert(other.withUnsafeBytes { ByteHash.hash($0) })
            }
            expect(hashes.count, is: count + 1)
        }
    }
}
