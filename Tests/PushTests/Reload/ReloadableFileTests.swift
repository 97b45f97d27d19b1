import Dispatch
import Glibc
import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("Reloadable files")
struct ReloadableFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func text(_ path: String) throws -> ReloadableFile<String> {
        try ReloadableFile(path: path) { path, _ in
            let text = String(decoding: try FileBytes(path: path).bytes, as: UTF8.self)
            guard !text.isEmpty else { throw Unusable() }
            return text
        }
    }

    private struct Unusable: Error, CustomStringConvertible { let description = "it is empty" }

    @Test("A changed file is read only after it has stopped changing")
    func change() throws {
        let file = try text(try folder.write("one", to: "a"))
        expect(file.reload(.poll), is: .unchanged)
        try folder.write("two", to: "a")
        expect(file.reload(.poll), is: .unchanged)
        expect(file.value, is: "one")
        try folder.write("three", to: "a")
        expect(file.reload(.poll), is: .unchanged)
        expect(file.reload(.poll), is: .reloaded)
        expect(file.value, is: "three")
        expect(file.version, is: 1)
        expect(file.reload(.poll), is: .unchanged)
    }

    @Test("A request reads the file at once, changed or not")
    func request() throws {
        let file = try text(try folder.write("one", to: "a"))
        try folder.write("two", to: "a")
        expect(file.reload(.request), is: .reloaded)
        expect(file.value, is: "two")
        expect(file.reload(.request), is: .reloaded)
    }

    @Test("A failed read keeps the old value, is reported once, and is retried when the file changes")
    func unreadable() throws {
        let file = try text(try folder.write("one", to: "a"))
        try folder.write("", to: "a")
        expect(file.reload(.poll), is: .unchanged)
        expect(file.reload(.poll), is: .failed("it is empty"))
        expect(file.reload(.poll), is: .unchanged)
        expect(file.value, is: "one")
        folder.delete("a")
        expect(file.reload(.poll), is: .unchanged)
        expect(file.reload(.poll), is: .failed("\(folder.path)/a: No such file or directory"))
        expect(file.value, is: "one")
        try folder.write("two", to: "a")
        expect(file.reload(.poll), is: .unchanged)
        expect(file.reload(.poll), is: .reloaded)
        expect(file.value, is: "two")
    }

    @Test("A file that keeps changing is read after 60 polls")
    func restless() throws {
        let file = try text(try folder.write("one", to: "a"))
        for number in 1..<60 {
            try folder.write(String(repeating: "x", count: 10 + number), to: "a")
            expect(file.reload(.poll), is: .unchanged)
        }
        try folder.write("another", to: "a")
        expect(file.reload(.poll), is: .reloaded)
        expect(file.value, is: "another")
    }

    @Test("A failed read is retried every 60 polls and reported only once")
    func passing() throws {
        let isAway = Atomic(false)
        let file = try ReloadableFile<Int>(path: try folder.write("one", to: "a")) { _, _ in
            if isAway.load(ordering: .relaxed) { throw Unusable() }
            return 1
        }
        isAway.store(true, ordering: .relaxed)
        try folder.write("another", to: "a")
        expect(file.reload(.poll), is: .unchanged)
        expect(file.reload(.poll), is: .failed("it is empty"))
        for _ in 0..<60 { expect(file.reload(.poll), is: .unchanged) }
        isAway.store(false, ordering: .relaxed)
        for _ in 0..<59 { expect(file.reload(.poll), is: .unchanged) }
        expect(file.reload(.poll), is: .reloaded)
        expect(file.reload(.poll), is: .unchanged)
    }

    @Test("A pipe is not opened on reload, as it may never have a writer")
    func pipe() throws {
        let file = try ReloadableFile<Int>(path: folder.path) { _, _ in 1 }
        let path = "\(folder.path)/a.strings"
        try #require(mkfifo(path, 0o600) == 0)
        expect(file.reload(.poll), is: .unchanged)
        expect(file.reload(.poll), is: .failed("\(path): a pipe can be read only at the start"))
        expect(file.reload(.request), is: .failed("\(path): a pipe can be read only at the start"))
        folder.delete("a.strings")
        expect(file.reload(.request), is: .reloaded)
    }

    @Test("A file that cannot be read the first time is an error")
    func missing() {
        #expect(throws: FileFailure.self) { try text("\(folder.path)/none") }
    }

    @Test("A folder's fingerprint changes when a file in it changes")
    func folders() throws {
        try folder.makeFolder("de.lproj")
        try folder.write("1", to: "de.lproj/a.strings")
        let before = FileFingerprint(of: folder.path)
        expect(FileFingerprint(of: folder.path), is: before)
        try folder.write("22", to: "de.lproj/a.strings")
        #expect(FileFingerprint(of: folder.path) != before)
    }

    @Test(
        "A file readable by others is recognized; the process's own group does not count",
        arguments: [(0o600, false), (0o640, false), (0o604, true)] as [(mode_t, Bool)])
    func permissions(mode: mode_t, isReadable: Bool) throws {
        let path = try folder.write("one", to: "a", mode: mode)
        try expect(FileBytes(path: path).isReadableByOthers, is: isReadable)
        // Only root may change the group, and not in a user namespace with few users.
        guard mode == 0o640, chown(path, 0, 54_321) == 0 else { return }
        #expect(try FileBytes(path: path).isReadableByOthers)
    }

    @Test("Wiping overwrites the bytes that were read with zeros")
    func wiped() throws {
        var file = try FileBytes(path: try folder.write("geheim", to: "a"))
        file.wipe()
        expect(file.bytes, is: [0, 0, 0, 0, 0, 0])
    }

    @Test("Memory that the bytes outgrow is wiped, and the larger memory has all of them")
    func outgrown() throws {
        var bytes = [UInt8](repeating: UInt8(ascii: "s"), count: 4096)
        let outgrown = bytes.withUnsafeBytes { Int(bitPattern: $0.baseAddress) }
        let more = (0..<bytes.capacity + 1000).map { UInt8(truncatingIfNeeded: $0) }
        let whole = bytes + more
        // Allocated first: later it could get the memory that is inspected.
        var left = [UInt8](repeating: 0, count: 4096)
        let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        try #require(memory >= 0)
        defer { close(memory) }
        bytes.appendWiping(more[...])
        // The system or another thread may have the memory by then; neither leaves a secret in it.
        _ = pread(memory, &left, left.count, outgrown)
        expect(bytes, is: whole)
        #expect(left.count { $0 == UInt8(ascii: "s") } < 1000)
        bytes.appendWiping(more[..<10])
        expect(bytes, is: whole + more[..<10])
    }

    @Test("A pipe, whose size is unknown, is read to its end")
    func sizeUnknown() throws {
        var ends: [Int32] = [-1, -1]
        try #require(Glibc.pipe(&ends) == 0)
        defer { close(ends[0]) }
        let text = (0..<4000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(text.withUnsafeBytes { writeAll($0, to: ends[1]) })
        close(ends[1])
        try expect(FileBytes(path: "/proc/self/fd/\(ends[0])").bytes, is: text)
    }

    @Test(
        "A leading byte order mark is dropped",
        arguments: [
            ("\u{FEFF}{}", "{}"), ("\u{FEFF}", ""), ("\u{FEFF}\u{FEFF}a", "\u{FEFF}a"), ("a\u{FEFF}", "a\u{FEFF}"),
        ])
    func mark(text: String, expected: String) throws {
        try expect(FileBytes(path: folder.write(text, to: "a")).bytes, is: Array(expected.utf8))
    }

    @Test("A file over the limit is rejected")
    func limit() throws {
        let path = try folder.write("12345", to: "a")
        try expect(FileBytes(path: path, limit: 5).bytes.count, is: 5)
        #expect(throws: FileFailure.self) { try FileBytes(path: path, limit: 4) }
    }

    @Test("A folder in a file's place cannot be read")
    func folderInPlace() {
        let error = #expect(throws: FileFailure.self) { try FileBytes(path: folder.path) }
        expect(error, is: FileFailure(path: folder.path, EISDIR))
    }

    @Test("The watcher finds changes by polling, and reloads every file on request")
    func watcher() async throws {
        let file = try text(try folder.write("one", to: "a"))
        let (outcomes, sink) = AsyncStream.makeStream(of: ReloadOutcome.self)
        let watcher = FileWatcher { _, _, outcome in sink.yield(outcome) }
        watcher.add(file)
        var next = outcomes.makeAsyncIterator()
        watcher.reloadAll()
        await expect(next.next(), is: .reloaded)
        watcher.start(every: .milliseconds(2))
        try folder.write("two", to: "a")
        await expect(next.next(), is: .reloaded)
        expect(file.value, is: "two")
    }

    @Test("A fingerprint changes with a file's size, time, inode, permissions, owner, group and existence")
    func fingerprints() throws {
        let path = try folder.write("1", to: "a")
        func fingerprint() -> FileFingerprint { FileFingerprint(of: path) }
        try folder.setTime(of: "a", 1000, nanoseconds: 5)
        var seen = [fingerprint()]
        expect(fingerprint(), is: seen[0])
        try folder.setTime(of: "a", 1001, nanoseconds: 5)
        seen.append(fingerprint())
        try folder.setTime(of: "a", 1001, nanoseconds: 6)
        seen.append(fingerprint())
        truncate(path, 0)
        try folder.setTime(of: "a", 1001, nanoseconds: 6)
        seen.append(fingerprint())
        try folder.write("", to: "a")
        try folder.setTime(of: "a", 1001, nanoseconds: 6)
        seen.append(fingerprint())
        try #require(chmod(path, 0o604) == 0)
        seen.append(fingerprint())
        if chown(path, 54_321, 0) == 0 {
            seen.append(fingerprint())
            try #require(chown(path, 54_321, 54_321) == 0)
            seen.append(fingerprint())
        }
        folder.delete("a")
        seen.append(fingerprint())
        for (number, one) in seen.enumerated() {
            for other in seen[(number + 1)...] { #expect(one != other) }
        }
    }

    @Test("A folder's fingerprint changes with a file's path, and circular links do not hang it")
    func folderNames() throws {
        try folder.makeFolder("a")
        try folder.makeFolder("b")
        try folder.write("1", to: "a/x")
        let before = FileFingerprint(of: folder.path)
        try #require(rename("\(folder.path)/a/x", "\(folder.path)/a/y") == 0)
        let renamed = FileFingerprint(of: folder.path)
        #expect(renamed != before)
        try #require(rename("\(folder.path)/a/y", "\(folder.path)/b/y") == 0)
        #expect(FileFingerprint(of: folder.path) != renamed)
        try #require(symlink("..", "\(folder.path)/b/circle") == 0)
        expect(FileFingerprint(of: folder.path), is: FileFingerprint(of: folder.path))
    }

    @Test("A folder is scanned once, however many links lead to it")
    func manyLinks() throws {
        try folder.makeFolder("a")
        try folder.write("1", to: "a/x")
        for link in ["1", "2", "a/3"] { try #require(symlink(folder.path, "\(folder.path)/\(link)") == 0) }
        expect(FileFingerprint(of: folder.path).entries.count, is: 6)
    }

    @Test("A requested reload runs the given action first and then reports the reload")
    func first() async throws {
        let file = try text(try folder.write("one", to: "a"))
        let (told, sink) = AsyncStream.makeStream(of: String.self)
        let watcher = FileWatcher { path, stage, outcome in sink.yield("\(stage ?? "") \(outcome) \(path)") }
        watcher.add(file, of: "s")
        expect(watcher.paths, is: [file.path])
        watcher.reloadAll { sink.yield("first") }
        var next = told.makeAsyncIterator()
        await expect(next.next(), is: "first")
        await expect(next.next(), is: "s reloaded \(file.path)")
    }

    @Test("Requests that come while another waits are one; a request after the reload has begun is another")
    func burst() async throws {
        let file = try text(try folder.write("one", to: "a"))
        let (told, sink) = AsyncStream.makeStream(of: String.self)
        let watcher = FileWatcher { _, _, outcome in sink.yield("\(outcome)") }
        watcher.add(file)
        let gate = DispatchSemaphore(value: 0)
        watcher.reloadAll {
            sink.yield("begun")
            gate.wait()
        }
        var next = told.makeAsyncIterator()
        await expect(next.next(), is: "begun")
        for _ in 0..<3 { watcher.reloadAll { sink.yield("again") } }
        gate.signal()
        for word in ["reloaded", "again", "reloaded"] { await expect(next.next(), is: word) }
        watcher.reloadAll { sink.yield("last") }
        for word in ["last", "reloaded"] { await expect(next.next(), is: word) }
    }
}
