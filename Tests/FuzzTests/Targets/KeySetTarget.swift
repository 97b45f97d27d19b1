@testable import PushmillCiphers

/// A key set gives keys that can be used and the names of those that cannot, or it is refused.
final class KeySetTarget: FuzzTarget {
    static let names = ["keys"]

    init(_ name: String) {}

    func run(_ bytes: [UInt8]) throws {
        let reader: KeySetReader
        do throws(KeySetError) {
            reader = try KeySetReader(bytes)
        } catch {
            return try promise(!"\(error)".isEmpty, "refused without a reason")
        }
        for key in reader.keys where !key.use.isElliptic {
            try promise(key.secret.count > 0, "a key without a secret")
        }
        try promise(KeyRing(reader.keys).keys.count == reader.keys.count, "a ring without some of its keys")
    }
}
