import Glibc
import PushmillKafka
import PushmillPayload
import PushmillTestSupport
import Testing

@testable import PushmillReplay

@Suite("Topics as a source", .ownThread)
struct TopicRecordsTests {
    private let broker: Broker
    /// The times of partition 0 are 1000, 2000, ... 10000; those of partition 1 half as far apart.
    private let start: Int64 = 1_700_000_000_000

    init() throws {
        broker = try Broker(topics: [("events", 2)])
        let records = (0..<20).map { index in
            let partition = Int32(index % 2)
            let step = Int64(index / 2 + 1) * (partition == 0 ? 1000 : 500)
            return RecordEnvelope("\(index)", partition: partition, timestamp: start + step)
        }
        try broker.publish(records, to: "events")
    }

    private func range(_ change: (inout TopicRange) -> Void = { _ in }) -> TopicRange {
        var range = TopicRange(topic: "events")
        change(&range)
        return range
    }

    private func places(_ records: [RecordEnvelope]) -> [String] {
        let runs = Dictionary(grouping: records, by: \.partition).mapValues { $0.map(\.offset) }
        return runs.sorted { $0.key < $1.key }.map { partition, offsets in
            "\(partition): \(offsets.first ?? -1)-\(offsets.last ?? -1)"
        }
    }

    @Test("A topic is read whole, one partition after another, in the same order each time")
    func everything() async throws {
        let records = try await broker.read(range())
        expect(records.map(\.partition), is: Array(repeating: 0, count: 10) + Array(repeating: 1, count: 10))
        expect(records.map(\.offset), is: Array(0..<10) + Array(0..<10))
        try await expect(broker.read(range()), is: records)
        try await expect(broker.read(range { $0.partitions = [1, 0, 1] }), is: records)
    }

    @Test("Offsets bound each partition, and may lie beyond its ends")
    func offsets() async throws {
        let middle = try await broker.read(range { ($0.from, $0.to) = (.offset(3), .offset(7)) })
        expect(places(middle), is: ["0: 3-6", "1: 3-6"])
        let beyond = try await broker.read(range { ($0.from, $0.to, $0.partitions) = (.offset(8), .offset(99), [1]) })
        expect(places(beyond), is: ["1: 8-9"])
        let nothing = try await broker.read(range { $0.from = .offset(500) })
        #expect(nothing.isEmpty)
    }

    @Test(
        "If the brokers' time index has no answer, times are found in the records",
        arguments: [
            (0, 100_000, ["0: 0-9", "1: 0-9"]), (3000, 5000, ["0: 2-3", "1: 5-8"]), (2999, 3001, ["0: 2-2", "1: 5-5"]),
            (5001, 100_000, ["0: 5-9"]), (20_000, 100_000, []),
        ])
    func scanned(_ from: Int64, _ to: Int64, _ expected: [String]) async throws {
        let records = try await broker.read(range { ($0.from, $0.to) = (.time(start + from), .time(start + to)) })
        expect(places(records), is: expected)
    }

    @Test("The brokers' time index, which counts transaction markers, only tells where to begin")
    func indexed() async throws {
        var asked: [Int64] = []
        // A marker at offset 1 of partition 0 has the brokers' time; partition 1 has no record since 1970.
        let index: TopicRecords.TimeIndex = { time, partition throws(ReplayError) in
            asked.append(time)
            return partition.partition == 0 ? 1 : time == 0 ? 0 : nil
        }
        let times = range { ($0.from, $0.to) = (.time(start + 2500), .time(start + 6000)) }
        var skipped: [Int] = []
        let source = try TopicRecords(times, broker.properties, timeIndex: index)
        source.onSkip = { skipped.append($0) }
        expect(source.span, is: 9)
        var records: [RecordEnvelope] = []
        while case let some = try source.next(100), !some.isEmpty { records += some }
        expect(places(records), is: ["0: 2-4"])
        expect(skipped.last, is: 6)
        expect(Set(asked), is: [start + 2500, 0])
    }

    @Test("A record out of order is in the range of its own time, also when it is followed")
    func outOfOrder() async throws {
        func late(_ text: String, _ time: Int64) -> RecordEnvelope {
            RecordEnvelope(text, partition: 1, timestamp: start + time)
        }
        try broker.publish([late("early", 100), late("in", 4000), late("last", 9000)], to: "events")
        let times = range { ($0.from, $0.to, $0.partitions) = (.time(start + 3000), .time(start + 4500), [1]) }
        try await expect(broker.read(times).map(\.offset), is: [5, 6, 7, 11])
        let source = try TopicRecords(range { $0.from = .time(start + 9500) }, broker.properties)
        while try !source.next(1000).isEmpty {}
        try broker.publish([late("old", 5000), late("new", 10_000)], to: "events")
        var followed: [RecordEnvelope] = []
        while followed.isEmpty { followed = try source.follow(milliseconds: 100) }
        expect(followed.map(\.payloadText), is: ["new"])
    }

    @Test("Outputs of records of another time, between those of a range, are not missing in a replay")
    func replayedByTime() async throws {
        try broker.cluster.createTopic("timed", partitions: 2)
        var events = Scene.events(20)
        for index in events.indices {
            (events[index].topic, events[index].timestamp) = ("timed", start + (index % 4 < 2 ? 0 : 5000))
        }
        try broker.publish(events, to: "timed")
        let published = try await broker.read(TopicRange(topic: "timed"))
        var times = TopicRange(topic: "timed")
        times.to = .time(start + 1000)
        let outputs = Recording(try await Scene().outputs(published))
        let run = ReplayRun(
            try TopicRecords(times, broker.properties), Scene().candidate,
            baseline: try await Baseline([outputs], isWider: true), keepsLines: false)
        let summary = try await run.run(report: { _ in })
        expect(summary.records, is: 10)
        expect(summary.missing, is: 0)
    }

    @Test(
        "Bounds decide which times are in a range, and without any all are", arguments: [.min, -1, 0, .max] as [Int64])
    func times(_ time: Int64) {
        expect(range { _ in }.isInRange(time), is: true)
        expect(range { $0.from = .time(0) }.isInRange(time), is: time >= 0)
        expect(range { $0.to = .time(0) }.isInRange(time), is: time < 0)
        expect(range { ($0.from, $0.to) = (.time(5), .time(1)) }.isInRange(time), is: false)
    }

    @Test("An offset that the log no longer holds is an error")
    func gone() async throws {
        // The embedded broker keeps 5 MB per partition.
        let large = String(repeating: "x", count: 200_000)
        for _ in 0..<40 { try broker.publish([RecordEnvelope(large)], to: "events") }
        let error = await #expect(throws: ReplayError.self) {
            try await broker.read(range { ($0.partitions, $0.from) = ([0], .offset(0)) })
        }
        expect(error?.description.hasPrefix("topic events: partition 0 begins at offset "), is: true)
        expect(error?.description.hasSuffix("; 0 was deleted"), is: true)
    }

    @Test("Records that are deleted before they are read are an error")
    func deleted() async throws {
        let source = try TopicRecords(range { $0.partitions = [0] }, broker.properties)
        let large = String(repeating: "x", count: 200_000)
        for _ in 0..<40 { try broker.publish([RecordEnvelope(large)], to: "events") }
        let error = #expect(throws: ReplayError.self) {
            while try !source.next(1000).isEmpty {}
        }
        expect(error?.description.contains("whose records have been deleted"), is: true)
    }

    @Test("A partition or a topic that does not exist is an error")
    func absent() async throws {
        let partition = await #expect(throws: ReplayError.self) {
            try await broker.read(range { $0.partitions = [5] })
        }
        expect(partition?.description, is: "topic events: has no partition 5: it has 2, numbered from 0")
        try broker.cluster.createTopic("gone", partitions: 1)
        broker.cluster.setTopicError("gone", code: 3)
        await #expect(throws: ReplayError.self) { try await broker.read(TopicRange(topic: "gone")) }
    }

    @Test("Following continues where the range ended")
    func following() async throws {
        let source = try TopicRecords(range(), broker.properties)
        while try !source.next(1000).isEmpty {}
        try broker.publish([RecordEnvelope("late", partition: 1)], to: "events")
        var late: [RecordEnvelope] = []
        while late.isEmpty { late = try source.follow(milliseconds: 100) }
        expect(late.map(\.payloadText), is: ["late"])
        expect(late.map(\.offset), is: [10])
    }

    @Test("Following from an offset beyond a partition's end begins once it is reached")
    func followingFromBeyond() async throws {
        let source = try TopicRecords(range { $0.from = .offset(11) }, broker.properties)
        #expect(try source.next(1000).isEmpty)
        #expect(try source.follow(milliseconds: 100).isEmpty)
        try broker.publish((10..<12).map { RecordEnvelope("\($0)", partition: 1) }, to: "events")
        var late: [RecordEnvelope] = []
        while late.isEmpty { late = try source.follow(milliseconds: 100) }
        expect(late.map(\.payloadText), is: ["11"])
        expect(late.map(\.offset), is: [11])
    }

    @Test("Records deleted before they are followed are an error even if others arrive")
    func deletedBeforeFollowing() async throws {
        let source = try TopicRecords(range(), broker.properties)
        while try !source.next(1000).isEmpty {}
        let large = String(repeating: "x", count: 200_000)
        for _ in 0..<40 { try broker.publish([RecordEnvelope(large)], to: "events") }
        try broker.publish([RecordEnvelope("late", partition: 1)], to: "events")
        let error = #expect(throws: ReplayError.self) {
            while true { _ = try source.follow(milliseconds: 100) }
        }
        expect(error?.description.contains("whose records have been deleted"), is: true)
    }

    @Test("A capture stops at its limit or when it is told to")
    func limits() async throws {
        func captured(_ limit: Int, isOver: @escaping (Int) -> Bool = { _ in false }) async throws -> [String] {
            var capture = Capture()
            capture.limit = limit
            capture.follows = true
            var lines: [String] = []
            var seen = 0
            let count = try capture.run(
                try TopicRecords(range(), broker.properties),
                write: { bytes throws(ReplayError) in
                    lines += String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { String($0) }
                }, isOver: { isOver(seen) }, progress: { seen = $0 })
            expect(count, is: lines.count)
            return lines
        }
        try await expect(captured(13).count, is: 13)
        try await expect(captured(.max, isOver: { $0 == 20 }).count, is: 20)
    }

    @Test(
        "A following capture stops at its limit within a batch of several partitions, without gaps",
        arguments: [21, 29, 39])
    func limitOfFollowing(_ limit: Int) async throws {
        let source = try TopicRecords(range(), broker.properties)
        // Beyond the range of the source: ten more records in each partition, at once.
        try broker.publish((0..<20).map { RecordEnvelope("late \($0)", partition: Int32($0 % 2)) }, to: "events")
        var capture = Capture()
        (capture.follows, capture.limit) = (true, limit)
        var lines: [UInt8] = []
        let count = try capture.run(
            source, write: { bytes throws(ReplayError) in lines += bytes }, isOver: { false }, progress: { _ in })
        let records = try lines.split(separator: UInt8(ascii: "\n")).map { try RecordEnvelope(line: Array($0)) }
        #expect(count == limit && records.count == limit)
        for partition: Int32 in 0..<2 {
            let offsets = records.filter { $0.partition == partition }.map(\.offset)
            #expect(offsets == Array(0..<Int64(offsets.count)) && offsets.count >= 10)
        }
    }

    @Test("A capture ends when it is told to even if the brokers are down")
    func stalled() async throws {
        let source = try TopicRecords(range(), broker.properties)
        broker.cluster.setDown()
        var asked = 0
        let count = try Capture().run(
            source, write: { _ in Issue.record("nothing is lent") },
            isOver: {
                asked += 1
                return asked > 3
            }, progress: { _ in })
        #expect(count == 0 && asked > 3)
    }

    @Test("A topic that may not be read is reported at once, with what to do")
    func forbidden() async throws {
        broker.cluster.failRequests(.fetch, with: [29])
        let error = await #expect(throws: ReplayError.self) { try await broker.read(range()) }
        let text = try #require(error?.description)
        #expect(text.hasPrefix("reading events/0: ") && text.hasSuffix("_FAILED): correct the access list"))
    }

    @Test("kcat's lines read like our own, and a binary value survives both")
    func kcat() async throws {
        var binary = RecordEnvelope(nil, partition: 1, headers: [("a", "b"), ("c", "")], timestamp: start)
        binary.payload = [0, 255, 128, 65]
        try broker.publish([binary], to: "events")
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/kcat.jsonl"
        let servers = broker.cluster.bootstrapServers
        let command = "kcat -C -b \(servers) -t events -o beginning -e -J -q > \(path)"
        let pipe = try #require(popen(command, "r"))
        expect(pclose(pipe), is: 0)
        let source = try CaptureFile(path: path, isOrdered: true, parallelism: 1)
        let theirs = try await source.next(1000).sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }
        expect(theirs, is: (try await broker.read(range())))
        expect(theirs.last?.payload, is: [0, 255, 128, 65])
    }
}
