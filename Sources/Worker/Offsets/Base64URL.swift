/// base64url without padding (RFC 4648, section 5).
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: .max, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> count & 63)])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << (6 - count) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// nil for anything that `encode` does not write.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for character in text {
            let value = values[Int(character)]
            guard value < 64 else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        guard count < 6, bits & (1 << count - 1) == 0 else { return nil }
        return bytes
    }
}
