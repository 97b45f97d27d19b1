import CPushmillMemory
import PushmillPayload

extension KeyIndex {
    static func hash(_ key: RawSpan) -> UInt32 { UInt32(truncatingIfNeeded: hash(key, after: 0)) }

    static func hash(_ first: RawSpan, _ second: RawSpan) -> UInt32 {
        UInt32(truncatingIfNeeded: hash(second, after: hash(first, after: 0)))
    }

    /// Random for each process, so that outsiders cannot choose keys that collide.
    private static let secret = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))

    private static func hash(_ key: RawSpan, after state: UInt64) -> UInt64 {
        key.withUnsafeBytes { ByteHash.hash($0, after: state, by: secret) }
    }

    func prefetch(_ hash: UInt32) {
        cells.withUnsafeBufferPointer { cells in
            if let base = cells.baseAddress { pushmill_prefetch(base + (Int(hash) & (cells.count - 1))) }
        }
    }
}
