package import PushmillStages

/// JSON Lines that are handed over a batch at a time.
package struct LineBatch {
    private static let size = 64 << 10

    private var lines = JSONLines()
    private var count = 0

    package init() {}

    package mutating func add(handOver: ([UInt8]) -> Void, _ members: (inout JSONLines) -> Void) {
        lines.begin()
        members(&lines)
        lines.end()
        count += 1
        guard lines.bytes.count >= Self.size else { return }
        handOver(lines.bytes)
        lines.clear()
    }

    /// Hands over the rest; gives the number of all lines.
    package mutating func finish(handOver: ([UInt8]) -> Void) -> Int {
        if !lines.bytes.isEmpty { handOver(lines.bytes) }
        return count
    }
}
