/// The key derivation of `ECDH-ES` (RFC 7518, 4.6.2).
struct ConcatDerivation {
    /// What the key will be for: an `enc`, or an `alg` that wraps.
    let algorithm: String
    let partyU: [UInt8]
    let partyV: [UInt8]

    /// `output` has room for whole hashes.
    func derive(
        _ count: Int, from shared: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer, _ hash: DigestContext
    ) throws(DecryptFailure) {
        var information: [UInt8] = []
        for part in [Array(algorithm.utf8), partyU, partyV] { information += bigEndian(part.count) + part }
        information += bigEndian(count * 8)
        for (round, start) in stride(from: 0, to: count, by: hash.count).enumerated() {
            try hash.begin()
            try hash.add(bigEndian(round + 1))
            try hash.add(shared)
            try hash.add(information)
            try hash.end(into: output + start)
        }
    }

    private func bigEndian(_ number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
