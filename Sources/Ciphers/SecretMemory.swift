import CPushmillOpenSSL

/// Key material: never printed, wiped when released.
package final class SecretBytes: @unchecked Sendable {
    // Unchecked only because of the pointer: the memory is written before another thread sees it, and never again.
    private let storage: UnsafeMutableRawBufferPointer

    /// `fill` writes the bytes, which are zero at first.
    package init<E: Error>(count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void) throws(E) {
        storage = .allocate(byteCount: count, alignment: 16)
        storage.initializeMemory(as: UInt8.self, repeating: 0)
        try fill(storage)
    }

    package convenience init(_ bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    /// Cryptographically random bytes.
    static func random(_ count: Int) throws(DecryptFailure) -> SecretBytes {
        try SecretBytes(count: count) { (bytes) throws(DecryptFailure) in
            let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard RAND_bytes(start, Int32(bytes.count)) == 1 else { throw .unsupported }
        }
    }

    /// Reads base64url without padding.
    convenience init(base64URL text: UnsafeRawBufferPointer) throws(DecryptFailure) {
        var buffer = ScratchBuffer()
        buffer.reserve(text.count + 4)
        let count = try BinaryText.decodeBase64(text, into: buffer.base)
        let bytes = buffer[0..<count]
        self.init(count: count) { $0.copyMemory(from: UnsafeRawBufferPointer(bytes)) }
    }

    deinit {
        OPENSSL_cleanse(storage.baseAddress, storage.count)
        storage.deallocate()
    }

    package var count: Int { storage.count }

    /// Valid for the lifetime of this object.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(storage) }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    package var description: String { "(hidden)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Memory for one ciphertext and its plaintext; grows as needed and is wiped after every use.
struct ScratchBuffer: ~Copyable {
    private(set) var base: UnsafeMutableRawPointer
    private var capacity = 4096
    fileprivate var used = 0

    init() { base = .allocate(byteCount: capacity, alignment: 16) }

    deinit {
        OPENSSL_cleanse(base, used)
        base.deallocate()
    }

    /// Makes room; the old contents are lost.
    mutating func reserve(_ count: Int) {
        clear()
        if count > capacity {
            base.deallocate()
            base = .allocate(byteCount: count, alignment: 16)
            capacity = count
        }
        used = count
    }

    mutating func clear() {
        guard used > 0 else { return }
        OPENSSL_cleanse(base, used)
        used = 0
    }

    subscript(range: Range<Int>) -> UnsafeMutableRawBufferPointer {
        precondition(range.upperBound <= used)
        return UnsafeMutableRawBufferPointer(start: base + range.lowerBound, count: range.count)
    }
}

/// Memory for the keys computed during a decryption, 64 bytes each.
struct SecretCells: ~Copyable {
    enum Cell: Int, CaseIterable {
        /// The result of a key agreement.
        case shared
        /// The key derived from `shared`.
        case agreed
        case contentKey
        case nonce
        case code
    }

    private static let cellCount = 64
    private var memory = ScratchBuffer()

    subscript(cell: Cell) -> UnsafeMutableRawPointer {
        mutating get {
            // Once: making room wipes the other cells.
            if memory.used == 0 { memory.reserve(Cell.allCases.count * Self.cellCount) }
            return memory.base + cell.rawValue * Self.cellCount
        }
    }

    mutating func clear() { memory.clear() }
}
