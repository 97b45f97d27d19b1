import PushmillTestSupport
import Testing

@testable import PushmillStores

struct LineReaderTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func read(_ text: String) throws -> [String] {
        var reader = try LineReader(try folder.write(text, to: "lines"))
        var line: [UInt8] = []
        var lines: [String] = []
        while try reader.next(into: &line) { lines.append(String(decoding: line, as: UTF8.self)) }
        #expect(reader.number == lines.count)
        return lines
    }

    @Test(
        "Lines end at a line feed, the last one also without",
        arguments: [
            ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("\n\na\r\n", ["", "", "a\r"]),
        ])
    func lines(_ text: String, _ expected: [String]) throws { #expect(try read(text) == expected) }

    @Test("Lines longer than the buffer and files longer than many of it come whole")
    func long() throws {
        let lines = [1, 300_000, 0, 262_144, 262_143, 900_000, 5].map { String(repeating: "x", count: $0) }
        #expect(try read(lines.joined(separator: "\n")) == lines)
    }

    @Test("A line without end is refused")
    func endless() throws {
        let error = #expect(throws: StoreError.self) { _ = try read("a\n" + String(repeating: "x", count: 2 << 20)) }
        #expect(error == .unreadableLine(path: "\(folder.path)/lines", line: 2, what: "longer than a mebibyte"))
    }

    @Test("A file that is not there, or a folder, is an error that names it")
    func unreadable() throws {
        for path in ["\(folder.path)/missing", folder.path] {
            let error = #expect(throws: StoreError.self) {
                var reader = try LineReader(path)
                var line: [UInt8] = []
                _ = try reader.next(into: &line)
            }
            #expect(error?.description.hasPrefix(path) == true)
        }
    }
}
