import PushmillCiphers
import PushmillPayload

/// The `apns-id` of a message that came without one: a UUID of version 8, the same for each repeat of the message.
struct DerivedIdentifier {
    private let high: UInt64
    private let low: UInt64

    /// No two offsets of a partition give the same UUID: of 128 bits, all 64 that depend on the offset are kept.
    init(_ record: InputRecord) {
        let place = Self.mixed(record.topicDigest ^ Self.mixed(UInt64(UInt32(bitPattern: record.partition)) &+ 1))
        let number = Self.mixed(UInt64(bitPattern: record.offset) ^ place)
        let version: UInt64 = 8 << 12
        let variant: UInt64 = 2 << 62
        // The 58 upper bits of the place around the version, then the number's 64 bits around the variant.
        high = place & 0xFFFF_FFFF_FFFF_0000 | version | (place >> 4 & 0xFFC) | number >> 62
        low = variant | number & 0x3FFF_FFFF_FFFF_FFFF
    }

    func append(to text: inout [UInt8]) {
        text.append(addingCapacity: 36) { output in
            output.withUnsafeMutableBufferPointer { digits, count in
                writeHex(high >> 32, to: digits, 0..<8)
                digits[8] = UInt8(ascii: "-")
                writeHex(high >> 16, to: digits, 9..<13)
                digits[13] = UInt8(ascii: "-")
                writeHex(high, to: digits, 14..<18)
                digits[18] = UInt8(ascii: "-")
                writeHex(low >> 48, to: digits, 19..<23)
                digits[23] = UInt8(ascii: "-")
                writeHex(low, to: digits, 24..<36)
                count = 36
            }
        }
    }

    /// The finalizer of SplitMix64, a bijection.
    private static func mixed(_ number: UInt64) -> UInt64 {
        var mixed = number
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

/// An `apns-collapse-id` has at most 64 bytes; a longer one is replaced by its SHA-256 hash, which is 64 bytes in hex.
enum CollapseIdentifier {
    private static let limit = 64

    static func isTooLong(_ header: RecordHeader) -> Bool {
        header.value?.count ?? 0 > limit && header.name.hasBytes(KnownHeader.apnsCollapseID.name)
    }

    /// Appends the identifier, or its hash if it is too long.
    static func append(_ identifier: UnsafeRawBufferPointer, to text: inout [UInt8]) {
        guard identifier.count > limit else { return text.append(contentsOf: identifier) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32 + limit) { scratch in
            // Hashing fails only if memory runs out; then the hash is all zeros.
            scratch.initialize(repeating: 0)
            if let base = scratch.baseAddress { try? ContentHash.hash(identifier, into: base) }
            for byte in 0..<32 {
                let start = 32 + byte * 2
                writeHex(UInt64(scratch[byte]), to: scratch, start..<start + 2)
            }
            text.append(contentsOf: UnsafeBufferPointer(rebasing: scratch[32...]))
        }
    }
}

/// Fills the range with the number's lowest digits.
private func writeHex(_ number: UInt64, to text: UnsafeMutableBufferPointer<UInt8>, _ range: Range<Int>) {
    let digits: StaticString = "0123456789abcdef"
    var rest = number
    for position in range.reversed() {
        text[position] = digits.utf8Start[Int(rest & 15)]
        rest >>= 4
    }
}
