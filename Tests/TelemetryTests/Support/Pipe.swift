import Glibc
import Testing

/// A pipe in place of standard error.
final class Pipe: Sendable {
    let reading: Int32
    let writing: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        (reading, writing) = (ends[0], ends[1])
    }

    deinit {
        close(reading)
        close(writing)
    }

    /// Waits for that many lines.
    func lines(_ count: Int) -> [String] {
        var lines: [String] = []
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while lines.count < count && read(reading, &byte, 1) == 1 {
            if byte == UInt8(ascii: "\n") {
                lines.append(String(decoding: line, as: UTF8.self))
                line = []
            } else {
                line.append(byte)
            }
        }
        return lines
    }

    /// Fills the pipe until it takes no more.
    func fill() {
        _ = fcntl(writing, F_SETFL, O_NONBLOCK)
        let page = [UInt8](repeating: UInt8(ascii: "#"), count: 4_096)
        while write(writing, page, page.count) > 0 {}
        _ = fcntl(writing, F_SETFL, 0)
    }
}
