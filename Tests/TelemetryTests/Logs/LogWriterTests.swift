import Foundation
import Glibc
import PushmillTelemetry
import PushmillTestSupport
import Synchronization
import Testing

@Suite struct LogWriterTests {
    private let time = ManualClock()

    @Test("The writer writes lines logged before and after its start, and the number held back")
    func writing() throws {
        let log = Log(clock: time.clock)
        let pipe = try Pipe()
        log.info("Before")
        let writer = try LogWriter(log, output: pipe.writing)
        expect(pipe.lines(1).first?.contains("Before"), is: true)
        for _ in 0..<22 { log.info("Repeated") }
        writer.close()
        expect(pipe.lines(21).last?.hasSuffix(#""message":"Repeated","held_back":2}"#), is: true)
    }

    @Test("A pipe gets JSON unless text is requested", arguments: [LogFormat.auto, .json, .text])
    func format(_ format: LogFormat) throws {
        let log = Log(clock: time.clock)
        let pipe = try Pipe()
        let writer = try LogWriter(log, format: format, output: pipe.writing)
        log.info("Hello")
        writer.close()
        let line = pipe.lines(1).first
        expect(line, is: (format == .text ? "2026-01-31T09:08:07.006Z INFO    Hello" : log.jsonLines.first))
    }

    @Test("A blocked output delays no logging thread, and lost lines are counted and reported")
    func blocked() throws {
        let log = Log(level: .debug, capacity: 8, clock: time.clock)
        let pipe = try Pipe()
        pipe.fill()
        let writer = try LogWriter(log, output: pipe.writing)
        for number in 0..<1_000 { log.log(.debug, "Line", [.count(number)]) }
        expect(log.counts.lines(.debug).value, is: 1_000)
        var lines: [String] = []
        while lines.last?.hasSuffix(#""count":999}"#) != true { lines += pipe.lines(1) }
        writer.close()
        let written = lines.filter { $0.contains(#""message":"Line""#) }.count
        expect(log.counts.lost.value, is: 1_000 - written)
        #expect(lines.contains { $0.contains(#""message":"Log lines were lost""#) })
    }

    @Test("A blocked output delays the close no longer than allowed")
    func blockedAtTheEnd() throws {
        let log = Log(clock: time.clock)
        let pipe = try Pipe()
        pipe.fill()
        let writer = try LogWriter(log, output: pipe.writing)
        log.info("Never written")
        writer.close(within: .milliseconds(20))
        expect(log.counts.lost.value, is: 1)
        writer.close()
    }

    @Test("A thread that logs endlessly does not delay the close")
    func endless() throws {
        let log = Log(level: .debug, capacity: 64, clock: time.clock)
        let pipe = try Pipe()
        let writer = try LogWriter(log, output: pipe.writing)
        let read = Atomic(0)
        let isOver = Atomic(false)
        // For each line that it reads it logs ten.
        let reader = try PushmillTelemetry.Thread(named: "reader") {
            while read.load(ordering: .relaxed) < 20_000, !isOver.load(ordering: .relaxed) {
                _ = pipe.lines(1)
                read.add(1, ordering: .relaxed)
                for _ in 0..<10 { log.log(.debug, "More") }
            }
        }
        log.log(.debug, "First")
        while log.counts.lines(.debug).value < 1_000 { usleep(100) }
        writer.close()
        #expect(read.load(ordering: .relaxed) < 20_000)
        isOver.store(true, ordering: .relaxed)
        // The reader may wait for a line, or have left the pipe full.
        _ = fcntl(pipe.writing, F_SETFL, O_NONBLOCK)
        _ = write(pipe.writing, "\n", 1)
        reader.join()
    }

    @Test("If the pipe's reader is gone, lines are lost but the process survives")
    func closedReader() throws {
        let log = Log(clock: time.clock)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        close(ends[0])
        let writer = try LogWriter(log, output: ends[1])
        log.info("To no one")
        writer.close()
        close(ends[1])
        expect(log.counts.lost.value, is: 1)
    }

    @Test("If the output is closed, lines are lost but the process survives")
    func closedOutput() throws {
        let log = Log(clock: time.clock)
        // No process has so many descriptors open.
        let writer = try LogWriter(log, output: 1 << 20)
        log.info("To no one")
        writer.close()
        expect(log.counts.lost.value, is: 1)
    }

    @Test("After a line cut by a full disk, the next line starts on its own", .enabled(if: SmallDisk.mayMount))
    func torn() throws {
        let log = Log(clock: time.clock)
        let disk = try SmallDisk()
        let path = "\(disk.folder.path)/log"
        let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        // The rest of the file's last page can be written however full the disk is.
        let begin = [UInt8](repeating: UInt8(ascii: "\n"), count: 4_000)
        try #require(write(file, begin, begin.count) == begin.count)
        try disk.fill()
        let writer = try LogWriter(log, output: file)
        log.info("Cut", [.path(String(repeating: "x", count: 900))])
        for _ in 0..<100_000 where log.counts.lost.value == 0 { usleep(100) }
        disk.makeRoom()
        log.info("Whole")
        writer.close()
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        expect(lines.first?.utf8.count, is: 96)
        expect(lines.dropFirst().map(String.init), is: log.jsonLines.suffix(1))
        expect(log.counts.lost.value, is: 1)
    }

    @Test("Lines from many threads are written whole")
    func whole() async throws {
        let log = Log(level: .debug, capacity: 10_000, clock: time.clock)
        let pipe = try Pipe()
        let writer = try LogWriter(log, output: pipe.writing)
        let lines = Mutex<[String]>([])
        // Reading blocks, and on a machine with one core the tasks have only one thread.
        let reader = try PushmillTelemetry.Thread(named: "reader") {
            let read = pipe.lines(800)
            lines.withLock { $0 = read }
        }
        await withTaskGroup { group in
            for shard in 0..<8 {
                group.addTask {
                    for _ in 0..<100 {
                        log.log(.debug, "Whole", [.shard(shard), .path(String(repeating: "x", count: 900))])
                    }
                }
            }
        }
        reader.join()
        writer.close()
        let written = lines.withLock { $0 }
        expect(written.count, is: 800)
        #expect(written.allSatisfy { $0.hasPrefix(#"{"time""#) && $0.hasSuffix(#"xx"}"#) })
    }
}
