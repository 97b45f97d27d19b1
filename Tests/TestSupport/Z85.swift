/// Writes ZeroMQ's base 85.
package enum Z85 {
    private static let alphabet = Array(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#")

    package static func text(_ bytes: [UInt8]) -> String {
        stride(from: 0, to: bytes.count, by: 4).map { start in
            let block = bytes[start..<min(start + 4, bytes.count)]
            var value = block.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            var digits: [Character] = []
            for _ in 0...block.count {
                digits.append(alphabet[Int(value % 85)])
                value /= 85
            }
            return String(digits.reversed())
        }.joined()
    }
}
