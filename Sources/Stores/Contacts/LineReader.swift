import Glibc

/// Reads a file line by line, whatever the size of the file.
struct LineReader: ~Copyable {
    private static let longestLine = 1 << 20

    let path: String
    /// Of the line that was read last, from 1.
    private(set) var number = 0
    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)
    /// What was read and not given yet.
    private var pending = 0..<0
    private var isAtEnd = false

    init(_ path: String) throws(StoreError) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        self.path = path
        if descriptor < 0 { throw Self.failure(path) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The size of the file, for those who reserve memory.
    var fileSize: Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Reads the next line, without its end; false where there is none.
    mutating func next(into line: inout [UInt8]) throws(StoreError) -> Bool {
        line.removeAll(keepingCapacity: true)
        var searched = 0
        while true {
            if let found = self.line(from: searched) {
                number += 1
                line.append(contentsOf: buffer[found])
                pending = min(found.upperBound + 1, pending.upperBound)..<pending.upperBound
                return true
            }
            if isAtEnd { return false }
            searched = pending.count
            try fill()
        }
    }

    private func line(from searched: Int) -> Range<Int>? {
        let start = pending.lowerBound
        let end = buffer[(start + searched)..<pending.upperBound].firstIndex(of: UInt8(ascii: "\n"))
        if let end { return start..<end }
        return isAtEnd && !pending.isEmpty ? pending : nil
    }

    private mutating func fill() throws(StoreError) {
        if pending.count == buffer.count {
            guard buffer.count < Self.longestLine else {
                throw .unreadableLine(path: path, line: number + 1, what: "longer than a mebibyte")
            }
            buffer.append(contentsOf: repeatElement(0, count: buffer.count))
        }
        if pending.lowerBound > 0 {
            buffer.replaceSubrange(0..<pending.count, with: Array(buffer[pending]))
            pending = 0..<pending.count
        }
        let free = pending.upperBound..<buffer.count
        let count = buffer.withUnsafeMutableBytes { bytes in
            let target = UnsafeMutableRawBufferPointer(rebasing: bytes[free])
            while true {
                let count = read(descriptor, target.baseAddress, target.count)
                if count >= 0 || errno != EINTR { return count }
            }
        }
        guard count >= 0 else { throw Self.failure(path) }
        isAtEnd = count == 0
        pending = pending.lowerBound..<pending.upperBound + count
    }

    private static func failure(_ path: String) -> StoreError {
        .unopened(path: path, message: String(cString: strerror(errno)))
    }
}
