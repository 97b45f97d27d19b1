import Synchronization

/// A key of a key set.
package final class DecryptionKey: Sendable {
    /// No other key of this process has the same, so that what was made of a key is not taken for another's.
    let serial: UInt64
    package let name: String?
    let nameBytes: [UInt8]?
    package let use: KeyUse
    /// An `oct` key's own bytes; the `auth` secret of a web push key; nothing for key agreement.
    let secret: SecretBytes
    let pair: EllipticKey?

    init(name: String?, use: KeyUse, secret: SecretBytes, pair: EllipticKey? = nil) {
        serial = Self.serials.add(1, ordering: .relaxed).newValue
        self.name = name
        nameBytes = name.map { Array($0.utf8) }
        self.use = use
        self.secret = secret
        self.pair = pair
    }

    private static let serials = Atomic<UInt64>(0)

    /// Good for as long as this object is.
    var cipherKey: CipherKey { CipherKey(secret.bytes, serial: serial) }

    func isNamed(_ bytes: UnsafeRawBufferPointer) -> Bool { nameBytes?.withUnsafeBytes(bytes.hasBytes) ?? false }
}
