import Glibc
import PushmillPayload
import PushmillTestSupport
import Testing

@testable import PushmillReplay

@Suite("Captures in files")
struct CaptureFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func read(_ path: String, isOrdered: Bool = true) async throws -> [RecordEnvelope] {
        let file = try CaptureFile(path: path, isOrdered: isOrdered, parallelism: 3)
        var records: [RecordEnvelope] = []
        while true {
            let some = try await file.next(100)
            if some.isEmpty { return records }
            records += some
        }
    }

    @Test("Records read back from a capture bit for bit", arguments: ["capture.jsonl", "capture.jsonl.gz"])
    func roundTrip(_ name: String) async throws {
        var records = (0..<1000).map { RecordEnvelope("payload \($0) \"é\" \u{1}", offset: $0) }
        records[3].payload = [0, 255, 128]
        records[4].key = [200]
        records[5].headers = [RecordEnvelope.Header(name: [255], value: nil)]
        records[6].payload = nil
        records[7].key = nil
        records[8].payload = []
        let file = try ReportFile(path: "\(folder.path)/\(name)")
        for record in records { try file.write(Array(record.line.utf8)) }
        expect(folder.names, is: ["\(name).partial"])
        try file.close()
        expect(folder.names, is: [name])
        try await expect(read("\(folder.path)/\(name)"), is: records)
        let magic = try folder.read(name).prefix(2)
        expect((magic == [0x1F, 0x8B]), is: name.hasSuffix(".gz"))
    }

    @Test("A capture that begins with a byte order mark is read")
    func mark() async throws {
        let record = RecordEnvelope("x")
        try await expect(read(folder.write("\u{FEFF}\(record.line)", to: "capture.jsonl")), is: [record])
    }

    @Test("Blank lines are passed over; NULs that a power failure has left are not blank")
    func blank() async throws {
        let record = RecordEnvelope("x")
        try await expect(read(folder.write("\n \t\r\n\(record.line)\r\n", to: "capture.jsonl")), is: [record])
        let path = try folder.write(record.line + String(repeating: "\0", count: 40), to: "torn.jsonl")
        let error = await #expect(throws: ReplayError.self) { try await read(path) }
        expect(error.map { "\($0)".contains("torn.jsonl: line 2: ") }, is: true)
    }

    @Test("Only its owner can read a capture, whatever the umask and leftover files")
    func modes() throws {
        let path = "\(folder.path)/capture.jsonl"
        try folder.write("half", to: "capture.jsonl.partial", mode: 0o666)
        try withoutFileMask {
            let file = try ReportFile(path: path)
            try expect(folder.mode(of: "capture.jsonl.partial"), is: 0o600)
            try file.write(Array(RecordEnvelope("x").line.utf8))
            try file.close()
        }
        try expect(folder.mode(of: "capture.jsonl"), is: 0o600)
        // A link left at that path does not lead the capture to another file.
        let other = try folder.write("theirs", to: "other", mode: 0o666)
        try #require(symlink(other, "\(path).partial") == 0)
        try ReportFile(path: path).close()
        try expect(folder.read("other"), is: Array("theirs".utf8))
    }

    @Test(
        "An error names the line that is not a valid record",
        arguments: [
            ("{\"payload\":\"x\",\"offset\":1}\n\n{\"payload\":\"y\",\"off", 3, "not JSON"),
            ("{\"payload\":\"x\"}\n{\"aps\":{}}\n", 2, "neither `payload` nor `payload_b64`"),
            ("{\"payload\":\"x\"}\n% Reached end of topic\n", 2, "not JSON"),
            ("{\"payload\":\"x\",\"offset\":7}\n{\"payload\":\"y\",\"offset\":7}\n", 2, "/0/7 comes after /0/7"),
            ("{\"payload\":\"x\",\"offset\":7}\n{\"payload\":\"y\",\"offset\":3}\n", 2, "in order"),
        ])
    func badLine(_ text: String, _ line: Int, _ what: String) async throws {
        let path = try folder.write(text, to: "capture.jsonl")
        let error = await #expect(throws: ReplayError.self) { _ = try await read(path) }
        expect(error?.description.hasPrefix("\(path): line \(line): "), is: true)
        expect(error?.description.contains(what), is: true)
    }

    @Test("Truncated compressed data is an error that names the line; damaged data is an error")
    func truncated() async throws {
        let path = "\(folder.path)/capture.jsonl.gz"
        let file = try ReportFile(path: path)
        for offset in 0..<5000 {
            try file.write(Array(RecordEnvelope("\(offset * 7919)", offset: Int64(offset)).line.utf8))
        }
        try file.close()
        let bytes = try folder.read("capture.jsonl.gz")
        try folder.write(Array(bytes.prefix(bytes.count / 2)), to: "capture.jsonl.gz")
        let error = await #expect(throws: ReplayError.self) { _ = try await read(path) }
        expect(error?.description.contains("the compressed data ends too early"), is: true)
        expect(error?.description.contains(": line "), is: true)
        var damaged = bytes
        for index in damaged.count / 2..<damaged.count / 2 + 50 { damaged[index] ^= 0x5A }
        try folder.write(damaged, to: "capture.jsonl.gz")
        await #expect(throws: ReplayError.self) { _ = try await read(path) }
    }

    @Test("An error names the baseline's line that is not an output")
    func noOutput() async throws {
        let lines = [("pushmill-source", "events/0/1"), ("x", "y")].map { RecordEnvelope("{}", headers: [$0]).line }
        let path = try folder.write(lines.joined(separator: "\n"), to: "golden.jsonl")
        let file = try CaptureFile(path: path, isOrdered: false, parallelism: 1)
        let error = await #expect(throws: ReplayError.self) { _ = try await Baseline([file], isWider: false) }
        expect(
            error?.description, is: "\(path): line 3: events/0/0 has no header pushmill-source: it is not an output")
    }

    @Test("Of two different outputs for one input, a file cannot say which counts", arguments: [false, true])
    func contradiction(isDifferent: Bool) async throws {
        let lines = ["{}", isDifferent ? "[]" : "{}"].map { payload in
            RecordEnvelope(payload, headers: [("pushmill-source", "events/0/1")]).line
        }
        let path = try folder.write(lines.joined(separator: "\n"), to: "golden.jsonl")
        let file = try CaptureFile(path: path, isOrdered: false, parallelism: 1)
        guard isDifferent else {
            _ = try await Baseline([file], isWider: false)
            return
        }
        let error = await #expect(throws: ReplayError.self) { _ = try await Baseline([file], isWider: false) }
        expect(
            error?.description,
            is: "\(path): line 3: events/0/0 is another output for events/0/1 than before")
    }

    @Test("An error names a missing file")
    func missing() async throws {
        let error = await #expect(throws: ReplayError.self) { _ = try await read("\(folder.path)/none.jsonl") }
        expect(error?.description, is: "\(folder.path)/none.jsonl: No such file or directory")
    }
}
