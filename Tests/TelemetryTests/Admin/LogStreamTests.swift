import PushmillTestSupport
import Testing

@testable import PushmillTelemetry

@Suite struct LogStreamTests {
    private func ring(_ levels: [LogLevel], capacity: Int = 100) -> LogRing {
        let ring = LogRing(capacity: capacity)
        for (number, level) in levels.enumerated() { append(number, level, to: ring) }
        return ring
    }

    private func append(_ number: Int, _ level: LogLevel = .info, to ring: LogRing) {
        ring.append(LogLine(time: 0, level: level, message: "Line", fields: [.count(number), .path("/Ünï\"Path")]))
    }

    /// The numbers of the lines that can be read now, and the step at which reading ended.
    private func numbers(_ stream: LogStream, buffer size: Int = 4_096) -> ([Int], LogStream.Step) {
        var bytes: [UInt8] = []
        while true {
            var step = LogStream.Step.end
            bytes += [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                step = stream.read(into: UnsafeMutableRawBufferPointer(buffer), isQuiet: false)
                if case .wrote(let written) = step { count = written }
            }
            if case .wrote = step { continue }
            let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
            return (
                lines.map { $0.split(separator: #""count":"#).last.flatMap { Int($0.prefix { $0.isNumber }) } ?? -1 },
                step
            )
        }
    }

    @Test("The latest matching lines come in order", arguments: [4_096, 100, 1])
    func recent(_ buffer: Int) {
        let ring = ring([.error, .info, .error, .debug, .error, .info])
        let stream = LogStream(ring, LogFilter(level: .error), recent: 2, follows: false)
        append(6, .error, to: ring)
        let (numbers, step) = numbers(stream, buffer: buffer)
        expect(numbers, is: [2, 4])
        expect(step, is: .end)
    }

    @Test(
        "A client may request no lines, or more than there are",
        arguments: [(0, []), (3, [0, 1, 2]), (Int.max, [0, 1, 2])])
    func limits(_ recent: Int, _ expected: [Int]) {
        let stream = LogStream(ring([.info, .info, .info]), LogFilter(), recent: recent, follows: false)
        expect(numbers(stream).0, is: expected)
    }

    @Test("A follower waits for new lines, and a keep-alive is an empty line")
    func follow() {
        let ring = ring([.info, .info])
        let stream = LogStream(ring, LogFilter(), recent: 1, follows: true)
        #expect(numbers(stream) == ([1], .waiting))
        append(2, to: ring)
        #expect(numbers(stream) == ([2], .waiting))
        var byte: UInt8 = 0
        withUnsafeMutableBytes(of: &byte) { expect(stream.read(into: $0, isQuiet: true), is: .wrote(1)) }
        expect(byte, is: UInt8(ascii: "\n"))
    }

    @Test("A slow follower is told how many lines it missed and continues with the oldest")
    func missed() {
        let ring = ring([], capacity: 4)
        let stream = LogStream(ring, LogFilter(level: .error), recent: 0, follows: true)
        for number in 0..<10 { append(number, .error, to: ring) }
        #expect(numbers(stream) == ([6, 6, 7, 8, 9], .waiting))
    }

    @Test("A non-following reader whose lines are overwritten ends, and misses only those lines")
    func leftBehind() {
        let ring = ring([.info, .info], capacity: 2)
        let stream = LogStream(ring, LogFilter(), recent: 2, follows: false)
        for number in 2..<20 { append(number, to: ring) }
        #expect(numbers(stream) == ([2], .end))
    }

    @Test(
        "A text is found anywhere in a line, and ASCII case does not matter",
        arguments: [
            ("", true), ("line", true), ("LINE", true), (#""count":7"#, true), ("ünï", false), ("Ünï", true),
            ("lines", false), (String(repeating: "x", count: 500), false), ("}", true), (#"\"path"#, true),
        ])
    func contains(_ text: String, _ expected: Bool) {
        let line = LogLine(time: 0, level: .info, message: "Line", fields: [.count(7), .path("/Ünï\"Path")])
        expect(LogFilter(contains: text).matches(line), is: expected)
    }
}
