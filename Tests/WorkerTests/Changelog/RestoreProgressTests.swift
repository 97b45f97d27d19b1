import Telemetry
import Testing

@testable import Worker

@Suite("How far restores are")
struct RestoreProgressTests {
    private let metrics = ServiceMetrics(
        registry: MetricRegistry(shards: 0), stages: [], outcomes: [], deadLetterReasons: [])
    private let progress: RestoreProgress

    init() { progress = RestoreProgress(topic: "badges", metrics: metrics) }

    @Test("It is the reason for not being ready, until every partition is whole")
    func reason() {
        #expect(progress.reason == nil)
        progress.begin(0, 0..<100)
        progress.begin(3, 50..<150)
        progress.read(0, records: 30, next: 40)
        #expect(progress.reason?.word == "restoring-counts")
        let sentence = "the counts of 2 partitions are read from badges: 40 of at most 200 records"
        #expect(progress.reason?.sentence == sentence)
        #expect(metrics.restoreLeft.value == 160)
        #expect(metrics.restoredRecords.value == 30)
        progress.end(0)
        #expect(metrics.restoreLeft.value == 100)
        progress.end(3)
        #expect(progress.reason == nil && metrics.restoreLeft.value == 0)
    }

    @Test("A partition that is begun again counts once, and a new round begins at nothing")
    func again() {
        progress.begin(0, 0..<0)
        progress.begin(0, 0..<100)
        progress.read(0, records: 60, next: 60)
        progress.begin(0, 60..<100)
        #expect(progress.records.read == 60 && progress.records.total == 100)
        progress.end(0)
        progress.begin(1, 0..<10)
        #expect(progress.records.read == 0 && progress.records.total == 10)
    }

    @Test("More than was expected, or nothing that is known, is no less than nothing")
    func beyond() {
        progress.begin(0, 0..<10)
        progress.read(0, records: 20, next: 20)
        progress.read(7, records: 5, next: 5)
        #expect(metrics.restoreLeft.value == 0)
        #expect(progress.reason != nil)
    }
}
