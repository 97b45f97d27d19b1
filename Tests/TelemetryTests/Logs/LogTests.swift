import PushmillTestSupport
import Synchronization
import PushmillTelemetry
import Testing

@Suite struct LogTests {
    private let time = ManualClock()

    @Test("A line is one JSON object: time, level, message, then the fields in their order")
    func line() {
        let log = Log(clock: time.clock)
        log.warning("Partition is slow", [.topic("push.events"), .partition(3), .offset(42), .seconds(0.25)])
        expect(
            log.jsonLines,
            is: [
                #"{"time":"2026-01-31T09:08:07.006Z","level":"warning","message":"Partition is slow","#
                    + #""topic":"push.events","partition":3,"offset":42,"seconds":0.25}"#
            ])
    }

    @Test("A call below the log level builds no fields and counts nothing", arguments: LogLevel.allCases)
    func levels(_ threshold: LogLevel) {
        let log = Log(level: threshold, clock: time.clock)
        let built = Mutex<[LogLevel]>([])
        func field(_ level: LogLevel) -> [LogField] {
            built.withLock { $0.append(level) }
            return []
        }
        log.error("Error", field(.error))
        log.warning("Warning", field(.warning))
        log.info("Info", field(.info))
        log.log(.debug, "Debug", field(.debug))
        log.log(.trace, "Trace", field(.trace))
        let expected = LogLevel.allCases.filter { $0 >= threshold }
        expect(built.withLock { $0 }, is: expected)
        expect(LogLevel.allCases.filter { log.counts.lines($0).value == 1 }, is: expected)
        expect(log.jsonLines.count, is: expected.count)
    }

    @Test("The log level can be changed at run time")
    func change() {
        let log = Log(level: .error, clock: time.clock)
        log.info("Before")
        log.level = .info
        log.info("After")
        expect(log.jsonLines.count, is: 1)
        expect(log.level, is: .info)
    }

    @Test("A log level is found by its exact name only", arguments: ["error", "warning", "info", "debug", "trace"])
    func names(_ name: String) {
        expect(LogLevel(name: name)?.name, is: name)
        #expect(LogLevel(name: name.uppercased()) == nil)
    }

    @Test("A message's lines are held back after a burst, and the next window reports how many")
    func rateLimit() {
        let log = Log(clock: time.clock)
        for _ in 0..<25 { log.info("Again") }
        log.info("Another")
        expect(log.jsonLines.count, is: 21)
        expect(log.counts.heldBack.value, is: 5)
        expect(log.counts.lines(.info).value, is: 26)
        time.advance(seconds: 10)
        log.info("Again")
        expect(log.jsonLines.last?.hasSuffix(#""message":"Again","held_back":5}"#), is: true)
    }

    @Test("Debug and trace lines are never held back")
    func noLimitBelowInfo() {
        let log = Log(level: .trace, clock: time.clock)
        for _ in 0..<100 { log.log(.debug, "Debug") }
        for _ in 0..<100 { log.log(.trace, "Trace") }
        expect(log.jsonLines.count, is: 200)
        expect(log.counts.heldBack.value, is: 0)
    }

    @Test("A burst from many threads loses no count")
    func concurrency() async {
        let log = Log(capacity: 64, clock: time.clock)
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { for number in 0..<500 { log.error("Burst", [.count(number)]) } }
            }
        }
        expect(log.counts.lines(.error).value, is: 4_000)
        expect(log.counts.heldBack.value, is: 3_980)
        expect(log.jsonLines.count, is: 20)
    }
}
