import PushmillTestSupport
import Testing

@testable import PushmillPayload

struct LineReaderTests {
    private func read(_ text: String) throws -> [String] {
        let folder = try TemporaryFolder()
        let file = try InputFile(path: try folder.write(text, to: "lines"))
        var reader = LineReader()
        var lines: [String] = []
        while let line = try reader.next({ _ throws(FileFailure) in try file.next() }) {
            lines.append(String(decoding: line, as: UTF8.self))
        }
        expect(reader.number, is: lines.count)
        return lines
    }

    @Test(
        "Lines end at a line feed or the file's end; a leading byte order mark is dropped",
        arguments: [
            ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("\n\na\r\n", ["", "", "a\r"]),
            ("\u{FEFF}a\n\u{FEFF}b", ["a", "\u{FEFF}b"]), ("\u{FEFF}", [""]), ("\u{FEFF}\n", [""]),
        ])
    func lines(_ text: String, _ expected: [String]) throws { try expect(read(text), is: expected) }

    @Test("Lines longer than one piece, and files of many pieces, are read whole")
    func long() throws {
        let lines = [1, 300_000, 0, 262_144, 262_143, 900_000, 5].map { String(repeating: "x", count: $0) }
        try expect(read(lines.joined(separator: "\n")), is: lines)
    }

    @Test("When the reader asks for more, it passes the bytes of the current line so far")
    func told() {
        var pieces: [[UInt8]] = [Array("ab\nc".utf8), Array("de".utf8), []]
        var counts: [Int] = []
        var reader = LineReader()
        var lines = 0
        func more(_ count: Int) -> [UInt8] {
            counts.append(count)
            return pieces.removeFirst()
        }
        while reader.next(more) != nil { lines += 1 }
        expect(lines, is: 2)
        expect(counts, is: [0, 1, 3])
    }
}
