/// A count as the changelog has it: the key is the recipient's length (32 bits, big-endian), the recipient and the app;
/// the value is the count in decimal. A count of 0 is no value: compaction then forgets the account.
package enum ChangelogRecord {
    private static let prefix = MemoryLayout<UInt32>.size

    /// Why a record is none of ours.
    package enum Malformed: Error, Equatable {
        case noKey
        /// The key ends before the recipient does.
        case shortKey
        case notACount

        package var what: String {
            switch self {
            case .noKey: "no key"
            case .shortKey: "the key ends within its recipient"
            case .notACount: "the value is not a count"
            }
        }
    }

    package static func appendKey(_ recipient: RawSpan, _ app: RawSpan, to bytes: inout [UInt8]) {
        let length = UInt32(truncatingIfNeeded: recipient.byteCount).bigEndian
        Swift.withUnsafeBytes(of: length) { bytes.append(contentsOf: $0) }
        recipient.withUnsafeBytes { bytes.append(contentsOf: $0) }
        app.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }

    /// False for a count that is no value.
    package static func appendValue(_ count: Int32, to bytes: inout [UInt8]) -> Bool {
        guard count > 0 else { return false }
        bytes.append(contentsOf: "\(count)".utf8)
        return true
    }

    /// The two are parts of the key.
    package static func account(
        _ key: UnsafeRawBufferPointer?
    ) throws(Malformed) -> (recipient: UnsafeRawBufferPointer, app: UnsafeRawBufferPointer) {
        guard let key else { throw .noKey }
        guard key.count >= prefix else { throw .shortKey }
        let length = Int(UInt32(bigEndian: key.loadUnaligned(as: UInt32.self)))
        guard length <= key.count - prefix else { throw .shortKey }
        let rest = UnsafeRawBufferPointer(rebasing: key[prefix...])
        return (
            UnsafeRawBufferPointer(rebasing: rest[..<length]), UnsafeRawBufferPointer(rebasing: rest[length...])
        )
    }

    package static func count(_ value: UnsafeRawBufferPointer?) throws(Malformed) -> Int32 {
        guard let value else { return 0 }
        guard let first = value.first, value.count == 1 || first != UInt8(ascii: "0") else { throw .notACount }
        var count: Int32 = 0
        for byte in value {
            let digit = byte &- UInt8(ascii: "0")
            let (product, isTooLarge) = count.multipliedReportingOverflow(by: 10)
            let (sum, isOverflowing) = product.addingReportingOverflow(Int32(truncatingIfNeeded: digit))
            guard digit <= 9, !isTooLarge, !isOverflowing else { throw .notACount }
            count = sum
        }
        return count
    }
}
