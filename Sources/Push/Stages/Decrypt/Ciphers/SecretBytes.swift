import CPushmillOpenSSL

/// Key material: never shown, and cleared when it is let go of.
package final class SecretBytes: @unchecked Sendable {
    // Unchecked for the pointer's sake only: what it points to is written before anyone else sees it, and never again.
    private let storage: UnsafeMutableRawBufferPointer

    /// `fill` writes the bytes, which are zero before.
    package init<E: Error>(count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void) throws(E) {
        storage = .allocate(byteCount: count, alignment: 16)
        storage.initializeMemory(as: UInt8.self, repeating: 0)
        try fill(storage)
    }

    package convenience init(_ bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    /// Reads base64url without padding.
    convenience init(base64URL text: UnsafeRawBufferPointer) throws(DecryptFailure) {
        var buffer = ScratchBuffer()
        buffer.reserve(text.count + 4)
        let count = try BinaryText.decodeBare(text, into: buffer.base)
        let bytes = buffer[0..<count]
        self.init(count: count) { $0.copyMemory(from: UnsafeRawBufferPointer(bytes)) }
    }

    deinit {
        OPENSSL_cleanse(storage.baseAddress, storage.count)
        storage.deallocate()
    }

    package var count: Int { storage.count }

    /// Good for as long as this object is.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(storage) }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    package var description: String { Secret.hidden }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
