import PushmillStores

/// Which accounts a file may have: says no only where it has them not, so that an account's first sight costs no read.
/// Known only where the file was empty when it was opened. A Bloom filter with five bits, all in one word.
struct CountFilter {
    private var words: [UInt64]
    private var count = 0

    init(bytes: Int) { words = Array(repeating: 0, count: max(8, bytes / 8)) }

    var byteCount: Int { words.count * 8 }

    /// So many accounts are in it that it says yes too often.
    var isFull: Bool { count > words.count * 16 }

    mutating func add(_ account: AccountHash) {
        let (word, bits) = (place(account), Self.bits(account))
        if words[word] & bits == bits { return }
        words[word] |= bits
        count += 1
    }

    func contains(_ account: AccountHash) -> Bool {
        let bits = Self.bits(account)
        return words[place(account)] & bits == bits
    }

    private func place(_ account: AccountHash) -> Int {
        Int(truncatingIfNeeded: account.high.multipliedFullWidth(by: UInt64(words.count)).high)
    }

    private static func bits(_ account: AccountHash) -> UInt64 {
        var (bits, rest) = (UInt64(0), account.low)
        for _ in 0..<5 {
            bits |= 1 << (rest & 63)
            rest >>= 6
        }
        return bits
    }
}
