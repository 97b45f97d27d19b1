/// Which lines of the log are asked for.
package struct LogFilter: Sendable {
    /// Lines less important than this are left out.
    private let level: LogLevel
    /// In lower case; ASCII letters match either case.
    private let text: [UInt8]

    package init(level: LogLevel = .trace, contains text: String = "") {
        self.level = level
        self.text = text.utf8.map(lowercase)
    }

    func matches(_ line: LogLine) -> Bool {
        guard line.level >= level else { return false }
        guard let first = text.first else { return true }
        return line.json.withUnsafeBytes { bytes in
            guard bytes.count >= text.count else { return false }
            for start in 0...(bytes.count - text.count) where lowercase(bytes[start]) == first {
                if text.indices.allSatisfy({ lowercase(bytes[start + $0]) == text[$0] }) { return true }
            }
            return false
        }
    }
}

private func lowercase(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}
