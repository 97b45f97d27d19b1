import Glibc
import PushmillTestSupport
import Testing

@testable import PushmillPayload

@Suite("Writing files atomically and reading them")
struct OutputFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    private func write(_ texts: String..., to name: String) throws {
        let file = try OutputFile(path: path(name))
        for text in texts { try file.write(Array(text.utf8)) }
        try file.close()
    }

    private func read(_ name: String) throws -> String {
        let file = try InputFile(path: path(name))
        var bytes: [UInt8] = []
        while true {
            let piece = try file.next()
            if piece.isEmpty { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece
        }
    }

    @Test("Written data reads back, compressed if the name ends in .gz", arguments: ["lines", "lines.gz"])
    func roundTrip(name: String) throws {
        let long = String(repeating: "0123456789", count: 60_000)
        try write("a\n", "", long, to: name)
        try expect(read(name), is: "a\n" + long)
        expect(folder.names, is: [name])
        let bytes = try FileBytes(path: path(name)).bytes
        expect(bytes.starts(with: [0x1F, 0x8B]), is: name.hasSuffix(".gz"))
        expect((bytes.count < 60_000), is: name.hasSuffix(".gz"))
    }

    @Test("A new file replaces the old one only on close; without close nothing remains")
    func appears() throws {
        try write("old", to: "a")
        do {
            let file = try OutputFile(path: path("a"))
            try file.write(Array("new".utf8))
            try expect(read("a"), is: "old")
            expect(folder.names, is: ["a", "a.partial"])
        }
        expect(folder.names, is: ["a"])
        try expect(read("a"), is: "old")
        try write("new", to: "a")
        try expect(read("a"), is: "new")
    }

    @Test("Only the owner can read a file, and a leftover partial link is not followed")
    func leftovers() throws {
        try folder.write("mine", to: "other", mode: 0o644)
        try #require(symlink(path("other"), path("a.partial")) == 0)
        try withoutFileMask { try write("new", to: "a") }
        #expect(try read("a") == "new" && read("other") == "mine")
        try expect(folder.mode(of: "a"), is: 0o600)
        expect(folder.names, is: ["a", "other"])
    }

    @Test("A symbolic link stays; the file that it points to is replaced")
    func link() throws {
        try folder.makeFolder("elsewhere")
        try folder.write("old", to: "elsewhere/file")
        try #require(symlink("elsewhere/file", path("a")) == 0)
        try write("new", to: "a")
        try expect(read("elsewhere/file"), is: "new")
        var status = stat()
        #expect(lstat(path("a"), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        expect(folder.names, is: ["a", "elsewhere"])
    }

    @Test("A file that another writer has open cannot be written until that writer ends")
    func twoAtOnce() throws {
        let busy = FileFailure(path: path("a"), what: "another process is writing it")
        do {
            let first = try OutputFile(path: path("a"))
            try first.write(Array("first".utf8))
            #expect(throws: busy) { try write("second", to: "a") }
            try first.close()
        }
        try expect(read("a"), is: "first")
        try write("second", to: "a")
        try expect(read("a"), is: "second")
    }

    @Test("A pipe is written directly and stays a pipe")
    func pipe() throws {
        try #require(mkfifo(path("pipe"), 0o600) == 0)
        let reading = open(path("pipe"), O_RDONLY | O_NONBLOCK)
        try #require(reading >= 0)
        defer { close(reading) }
        try write("through", to: "pipe")
        var bytes = [UInt8](repeating: 0, count: 100)
        expect(Glibc.read(reading, &bytes, bytes.count), is: 7)
        #expect(bytes.prefix(7).elementsEqual("through".utf8))
        expect(folder.names, is: ["pipe"])
    }

    @Test("A failed write reports the system's reason and leaves nothing behind")
    func unwritable() throws {
        #expect(throws: FileFailure(path: path("none/a"), ENOENT)) { try write("x", to: "none/a") }
        #expect(throws: FileFailure(path: path("none"), ENOENT)) { try read("none") }
        #expect(throws: FileFailure(path: path(""), EISDIR)) { try read("") }
        // A folder appears under the file's name before the close.
        func replace() throws {
            let file = try OutputFile(path: path("b"))
            try folder.makeFolder("b")
            try file.close()
        }
        #expect(throws: FileFailure(path: path("b"), EISDIR)) { try replace() }
        expect(folder.names, is: ["b"])
    }

    @Test("A full device is reported")
    func full() throws {
        func fill(_ count: Int) throws {
            let file = try OutputFile(path: "/dev/full")
            try file.write([UInt8](repeating: 1, count: count))
            try file.close()
        }
        // The first count fails only on close.
        for count in [1, 4 << 20] { #expect(throws: FileFailure(path: "/dev/full", ENOSPC)) { try fill(count) } }
    }

    @Test("Truncated and damaged compressed data are reported")
    func damaged() throws {
        var generator = SeededGenerator(seed: 3)
        let text = String((0..<5000).map { _ in generator.pick(Array("abcdefghijklmnop")) })
        try write(text, to: "a.gz")
        let bytes = try FileBytes(path: path("a.gz")).bytes
        func failure(_ bytes: [UInt8]) throws -> String {
            try folder.write(bytes, to: "b.gz")
            let failure = #expect(throws: FileFailure.self) { try read("b.gz") }
            return failure?.what ?? ""
        }
        try expect(failure(Array(bytes.dropLast(1000))), is: "the compressed data ends too early")
        var damaged = bytes
        damaged[bytes.count - 6] ^= 1
        #expect(try failure(damaged).hasPrefix("the compressed data is damaged: "))
    }

    @Test("A failure names the file and the reason")
    func failures() throws {
        expect(FileFailure(path: "/a", EACCES).description, is: "/a: Permission denied")
        let unreadable = #expect(throws: FileFailure.self) { try FileBytes(path: path("none")) }
        expect(unreadable?.description, is: "\(path("none")): No such file or directory")
    }

    @Test("Concatenated compressed files are read as one, and uncompressed bytes after them are reported")
    func members() throws {
        try write("a\n", to: "a.gz")
        try write("b\n", to: "b.gz")
        let bytes = try FileBytes(path: path("a.gz")).bytes + FileBytes(path: path("b.gz")).bytes
        try folder.write(bytes, to: "both.gz")
        try expect(read("both.gz"), is: "a\nb\n")
        try folder.write(bytes + Array("c\n".utf8), to: "more.gz")
        let failure = #expect(throws: FileFailure.self) { try read("more.gz") }
        expect(failure?.what.hasPrefix("the compressed data is damaged: "), is: true)
        for text in ["", "\u{1F}"] {
            try folder.write(text, to: "short")
            try expect(read("short"), is: text)
        }
    }

    @Test("A whole file is read without its byte order mark, up to a limit", arguments: ["a", "a.gz"])
    func rest(name: String) throws {
        try write("\u{FEFF}1234", to: name)
        try expect(InputFile(path: path(name)).rest(limit: 7), is: Array("1234".utf8))
        let failure = #expect(throws: FileFailure.self) { try InputFile(path: path(name)).rest(limit: 6) }
        expect(failure, is: FileFailure(path: path(name), EFBIG))
    }

    // The test blocks its thread: on a machine with one core, tasks have no other thread.
    @Test(
        "A pipe that another process made nonblocking is read to its end, compressed or not", .ownThread,
        arguments: ["lines", "lines.gz"])
    func waits(name: String) async throws {
        let text = (0..<2000).map { "line \($0 &* 7919)\n" }.joined()
        try write(text, to: name)
        var ends: [Int32] = [0, 0]
        try #require(Glibc.pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        _ = fcntl(reading, F_SETFL, O_NONBLOCK)
        var rest = try FileBytes(path: path(name)).bytes[...]
        // Keeps a reader open: writing to a pipe without one would kill the tests.
        let watched = dup(reading)
        let written = Task.detached {
            while !rest.isEmpty, !Task.isCancelled {
                let piece = rest.prefix(rest.count > 1000 ? 100 : 1)
                rest = rest.dropFirst(piece.count)
                _ = piece.withUnsafeBytes { writeAll($0, to: writing) }
                // Waits until the piece is read.
                var left: Int32 = 1
                while left > 0, !Task.isCancelled, ioctl(watched, UInt(FIONREAD), &left) == 0 { sched_yield() }
            }
            close(writing)
            close(watched)
        }
        defer { written.cancel() }
        let file = try InputFile(path: name, opened: reading)
        var bytes: [UInt8] = []
        while case let piece = try file.next(), !piece.isEmpty { bytes += piece }
        await written.value
        expect(String(decoding: bytes, as: UTF8.self), is: text)
    }

    // The test blocks its thread: on a machine with one core, tasks have no other thread.
    @Test(
        "All bytes are written in as many calls as it takes, and a refused write is reported", .ownThread,
        arguments: [0, O_NONBLOCK])
    func writesAll(flags: Int32) async throws {
        var ends: [Int32] = [0, 0]
        try #require(Glibc.pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        _ = fcntl(writing, F_SETFL, flags)
        let text = [UInt8](repeating: 7, count: 300_000)
        let read = Task.detached {
            var count = 0
            var chunk = [UInt8](repeating: 0, count: 10_000)
            while true {
                let more = Glibc.read(reading, &chunk, chunk.count)
                guard more > 0 else { return count }
                count += more
            }
        }
        #expect(text.withUnsafeBytes { writeAll($0, to: writing) })
        close(writing)
        await expect(read.value, is: text.count)
        // This end is only for reading.
        #expect(text.withUnsafeBytes { !writeAll($0, to: reading) })
        #expect([].withUnsafeBytes { writeAll($0, to: -1) })
        close(reading)
    }
}
