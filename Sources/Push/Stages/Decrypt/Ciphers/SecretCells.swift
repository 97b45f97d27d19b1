import CPushmillOpenSSL

/// Memory for the keys that are computed on the way to a plaintext, 64 bytes for each.
struct SecretCells: ~Copyable {
    enum Cell: Int, CaseIterable {
        /// What a key agreement gives.
        case shared
        /// What is made of that.
        case agreed
        case contentKey
        case nonce
        case code
    }

    private static let cellCount = 64
    private static let count = Cell.allCases.count * cellCount
    private let start = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 16)
    private var isUsed = false

    deinit {
        OPENSSL_cleanse(start, Self.count)
        start.deallocate()
    }

    subscript(cell: Cell) -> UnsafeMutableRawPointer {
        mutating get {
            isUsed = true
            return start + cell.rawValue * Self.cellCount
        }
    }

    mutating func clear() {
        guard isUsed else { return }
        OPENSSL_cleanse(start, Self.count)
        isUsed = false
    }
}
