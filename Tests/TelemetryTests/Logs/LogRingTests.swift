import Testing

@testable import PushmillTelemetry

@Suite struct LogRingTests {
    private func line(_ number: Int) -> LogLine {
        LogLine(time: Int64(number), level: .info, message: "Line", fields: [])
    }

    @Test("A reader gets each line once and is told how many it missed")
    func reading() {
        let ring = LogRing(capacity: 4)
        var cursor = ring.end
        for number in 0..<3 { ring.append(line(number)) }
        var read = ring.read(from: &cursor, limit: 2)
        #expect(read.lines.map(\.time) == [0, 1] && read.missed == 0)
        for number in 3..<10 { ring.append(line(number)) }
        read = ring.read(from: &cursor, limit: 100)
        #expect(read.lines.map(\.time) == [6, 7, 8, 9] && read.missed == 4)
        read = ring.read(from: &cursor, limit: 100)
        #expect(read.lines.isEmpty && read.missed == 0)
    }

    @Test("A new line wakes only the readers that are subscribed")
    func waking() throws {
        let ring = LogRing(capacity: 4)
        let reader = try Waker()
        ring.subscribe(reader)
        ring.append(line(0))
        #expect(isReadable(reader.descriptor))
        reader.rearm()
        #expect(!isReadable(reader.descriptor))
        ring.unsubscribe(reader)
        ring.append(line(1))
        #expect(!isReadable(reader.descriptor))
    }
}
