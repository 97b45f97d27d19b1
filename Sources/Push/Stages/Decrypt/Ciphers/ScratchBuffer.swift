import CPushmillOpenSSL

/// Memory for one ciphertext and what becomes of it; grows as needed, and is cleared after every use.
struct ScratchBuffer: ~Copyable {
    private(set) var base: UnsafeMutableRawPointer
    private var capacity = 4096
    private var used = 0

    init() { base = .allocate(byteCount: capacity, alignment: 16) }

    deinit {
        OPENSSL_cleanse(base, used)
        base.deallocate()
    }

    /// Makes room. What was there is lost.
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
