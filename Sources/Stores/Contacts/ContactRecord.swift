import Glibc
import PushmillLocalization

/// One contact as bytes: three lengths of 16 bits, the name's direction, then owner, identifier and name. The name is
/// clean, and empty for one who is known to be nobody's contact.
enum ContactRecord {
    static let longest = Int(UInt16.max)
    private static let headerSize = 7

    /// Appends a record; false if one of its parts is too long.
    static func append(owner: RawSpan, id: RawSpan, name: [UInt8], to bytes: inout [UInt8]) -> Bool {
        guard max(owner.byteCount, id.byteCount, name.count) <= longest else { return false }
        for count in [owner.byteCount, id.byteCount, name.count] {
            bytes.append(UInt8(truncatingIfNeeded: count))
            bytes.append(UInt8(truncatingIfNeeded: count >> 8))
        }
        bytes.append(TextDirection(of: name.span).rawValue)
        owner.withUnsafeBytes { bytes.append(contentsOf: $0) }
        id.withUnsafeBytes { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: name)
        return true
    }

    static func matches(_ bytes: [UInt8], at start: Int, owner: RawSpan, id: RawSpan) -> Bool {
        let (ownerCount, idCount) = (count(bytes, start), count(bytes, start + 2))
        guard ownerCount == owner.byteCount, idCount == id.byteCount else { return false }
        let key = bytes.span.bytes.extracting(droppingFirst: start + headerSize)
        return key.extracting(first: ownerCount).hasSameBytes(as: owner)
            && key.extracting(ownerCount..<ownerCount + idCount).hasSameBytes(as: id)
    }

    /// Gives the name; false for nobody's contact.
    static func giveName(
        of bytes: [UInt8], at start: Int, _ body: (Span<UInt8>, TextDirection) -> Void
    ) -> Bool {
        let nameStart = start + headerSize + count(bytes, start) + count(bytes, start + 2)
        let nameCount = count(bytes, start + 4)
        guard nameCount > 0 else { return false }
        body(bytes.span.extracting(nameStart..<nameStart + nameCount), TextDirection(rawValue: bytes[start + 6]))
        return true
    }

    private static func count(_ bytes: [UInt8], _ at: Int) -> Int { Int(bytes[at]) | Int(bytes[at + 1]) << 8 }
}

extension RawSpan {
    func hasSameBytes(as other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        return withUnsafeBytes { left in
            other.withUnsafeBytes { right in
                guard let left = left.baseAddress, let right = right.baseAddress else { return true }
                return memcmp(left, right, byteCount) == 0
            }
        }
    }
}
