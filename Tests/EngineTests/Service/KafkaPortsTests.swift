import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillTelemetry
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("The Kafka ports of a shard, with an embedded broker")
struct KafkaPortsTests {
    private static let tag: UInt64 = 7 << 32 | 3

    private let peer: ServicePeer

    init() throws { peer = try ServicePeer() }

    /// Begins the input's record as entry 3, with a chain without stages, and publishes the output, at once or after it
    /// was held. Returns its report.
    private func publish(
        by ports: inout KafkaPorts, isHeld: Bool, refusals: Int = 0
    ) throws -> OutputReport<HeldOutput> {
        let message = try begin(3, by: &ports, peer)
        defer { ports.release(message) }
        for _ in 0..<refusals { ports.refuseCurrent(reason: "bad", isCounted: true) }
        let held = isHeld ? ports.holdCurrent() : nil
        expect((held?.isLetter ?? (refusals > 0)), is: (refusals > 0))
        let step = if let held { ports.publish(held, tag: Self.tag) } else { ports.publish(tag: Self.tag) }
        expect(step, is: .queued)
        return try report(by: &ports, peer)
    }

    /// Begins the input's record as this entry, with a chain without stages, and returns the record.
    private func begin(_ entry: Int, by ports: inout KafkaPorts, _ peer: ServicePeer) throws -> PushmillKafka.Record {
        let message = try peer.record(of: "events")
        let now = ports.now
        guard case .ended = ports.begin(message, entry: entry, taken: now, now: now, count: nil, isCounted: false)
        else { throw KafkaError("a stage was begun") }
        return message
    }

    /// Begins the input's record as entries 3 and 4, at these turns. Returns them in the order in which their stages
    /// ended on the pool.
    private func suspend(at turns: [Instant], by ports: inout KafkaPorts, _ peer: ServicePeer) throws -> [Int] {
        for (entry, turn) in zip(3..., turns) {
            let message = try peer.record(of: "events")
            let step = ports.begin(message, entry: entry, taken: turn, now: turn, count: nil, isCounted: false)
            ports.release(message)
            guard case .suspended = step else { throw KafkaError("no stage was begun") }
        }
        var ended: [Int] = []
        for _ in 0..<60 where ended.count < 2 {
            peer.inbox.signal.wait(nanoseconds: 1_000_000_000)
            ended += peer.inbox.results.take()
        }
        try #require(ended.sorted() == [3, 4])
        return ended
    }

    private func report(by ports: inout KafkaPorts, _ peer: ServicePeer) throws -> OutputReport<HeldOutput> {
        var reports: [OutputReport<HeldOutput>] = []
        for _ in 0..<60 where reports.isEmpty {
            peer.inbox.signal.wait(nanoseconds: 1_000_000_000)
            ports.takeReports(into: &reports)
        }
        return try #require(reports.first)
    }

    private func ports(of peer: ServicePeer? = nil) throws -> KafkaPorts {
        let peer = peer ?? self.peer
        var ports = try KafkaPorts(peer.settings, peer.environment, peer.inbox)
        _ = ports.number(ofTopic: "events")
        return ports
    }

    private var published: [Int] { peer.environment.metrics.messages.published.map(\.value) }

    @Test("An output is stored with the key and headers of its message, and counted")
    func output() throws {
        var ports = try ports()
        // Before the first message there is nothing to publish.
        expectEqual(ports.publish(tag: Self.tag), .later)
        for (offset, isHeld) in [false, true].enumerated() {
            let report = try publish(by: &ports, isHeld: isHeld)
            #expect(report.tag == Self.tag && report.failure == nil)
            let stored = try peer.stored(in: "out", at: Int64(offset))
            #expect(stored.key == "anna" && stored.value == ServicePeer.value)
            #expect(stored.headers["n"] == "1" && stored.headers.count > 1)
        }
        #expect(published[Outcome.passed.rawValue] == 2 && published.reduce(0, +) == 2)
    }

    @Test("An expired message that is dropped is counted and not published")
    func dropped() throws {
        let peer = try ServicePeer(headers: [("apns-expiration", "1")], publishesExpired: false)
        var ports = try ports(of: peer)
        let message = try peer.record(of: "events")
        defer { ports.release(message) }
        let step = ports.begin(message, entry: 3, taken: ports.now, now: ports.now, count: nil, isCounted: false)
        guard case .ended(let destination, _) = step else { throw KafkaError("a stage was begun") }
        expect(destination, is: .nowhere)
        let metrics = peer.environment.metrics
        #expect(metrics.messages.dropped.value == 1 && metrics.messages.published.allSatisfy { $0.value == 0 })
    }

    @Test("A delivery is kept for reuse unless it has become large", arguments: [(10, 1), (100_000, 0)])
    func large(count: Int, kept: Int) throws {
        var ports = try ports()
        let delivery = Delivery()
        let source = Source(topic: SourceTopic("events"), partition: 0, offset: 0)
        let payload = #"{"aps":{"x":[\#(Array(repeating: "0", count: count).joined(separator: ","))]}}"#
        let now = ports.now
        _ = Array(payload.utf8).withUnsafeBytes { value in
            delivery.record.fill(source, timestamp: 0, key: nil, value: value, headers: 0) { _ in nil }
            return peer.environment.chain.begin(delivery, taken: now, now: now, wallClock: 0, count: nil)
        }
        ports.suspended[3] = delivery
        ports.abandon(entry: 3)
        let spare = ports.spare.count
        expect(spare, is: kept)
    }

    @Test(
        "A delivery whose stage ended on the pool is kept for reuse unless it is large",
        arguments: [(10, 2), (100_000, 1)])
    func largeAfterPool(count: Int, kept: Int) throws {
        let peer = try ServicePeer(
            headers: [("x", String(repeating: "x", count: count))],
            value: #"{"aps":{"alert":"hello","mutable-content":1}}"#, links: [ChainLink(PoolStage())])
        var ports = try ports(of: peer)
        let now = ports.now
        for entry in try suspend(at: [now, now], by: &ports, peer) {
            guard case .some(.ended) = ports.resume(entry: entry, now: ports.now) else {
                throw KafkaError("the chain has not ended")
            }
        }
        // The empty one, and the delivery that ended first.
        let spare = ports.spare.count
        expect(spare, is: kept)
    }

    @Test("A message's time counts from its own turn, even if another's came meanwhile")
    func messageSeconds() throws {
        let peer = try ServicePeer(
            value: #"{"aps":{"alert":"hello","mutable-content":1}}"#, links: [ChainLink(PoolStage())])
        var ports = try ports(of: peer)
        let now = ports.now
        let earlier = Instant(nanoseconds: now.nanoseconds - 2_000_000_000)
        _ = try suspend(at: [earlier, now], by: &ports, peer)
        guard case .some(.ended) = ports.resume(entry: 3, now: now) else { throw KafkaError("the chain has not ended") }
        expectEqual(ports.publish(tag: Self.tag), .queued)
        expect(peer.samples("pushmill_message_seconds_sum"), is: ["pushmill_message_seconds_sum 2.0"])
    }

    @Test("The results of stages are counted for every message, whether it is sampled or not")
    func stageResults() throws {
        let peer = try ServicePeer(
            value: #"{"aps":{"alert":"hello","mutable-content":1,"badge":1}}"#,
            links: [ChainLink(BadgeStage(mode: .increment))])
        var ports = try ports(of: peer)
        let message = try peer.record(of: "events")
        defer { ports.release(message) }
        for _ in 0..<20 {
            let now = ports.now
            guard case .ended = ports.begin(message, entry: 3, taken: now, now: now, count: 1, isCounted: false)
            else { throw KafkaError("a stage was begun") }
        }
        ports.wait(until: ports.now, records: false)
        expect(peer.environment.metrics.messages.stages.map { $0.results("ok").value }, is: [20])
    }

    @Test("The time of a suspended stage is measured for every message, even if all is well")
    func stageSeconds() throws {
        let peer = try ServicePeer(
            value: #"{"aps":{"alert":"hello","mutable-content":1}}"#, links: [ChainLink(PoolStage())])
        var ports = try ports(of: peer)
        let now = ports.now
        for entry in try suspend(at: [now, now], by: &ports, peer) {
            guard case .some(.ended) = ports.resume(entry: entry, now: now) else {
                throw KafkaError("the chain has not ended")
            }
        }
        let count = #"pushmill_stage_seconds_count{stage="pool"}"#
        expect(peer.samples(count), is: ["\(count) 2"])
    }

    @Test("A returned count change is not taken for a message, whatever its number")
    func changeReturned() throws {
        let peer = try ServicePeer(changelog: "badges")
        peer.setLeader(of: "badges", broker: -1)
        var ports = try ports(of: peer)
        let tag = EntryTable.changeTag(5000, 0)
        let step = Array("anna".utf8).withUnsafeBytes { key in
            ports.publishChange(partition: 0, key: key, value: key, timestamp: 5, tag: tag)
        }
        expect(step, is: .queued)
        ports.purge(all: true)
        let report = try report(by: &ports, peer)
        #expect(report.tag == tag && report.returned == nil && report.failure == .purged)
    }

    @Test("A transaction that cannot end for long shows that brokers do not answer")
    func stuck() throws {
        let peer = try ServicePeer(producer: [("transactional.id", "mill")])
        var ports = try ports(of: peer)
        for step in [TransactionStep.initialize, .begin] {
            var result = ports.transact(step)
            for _ in 0..<60 {
                guard case .retry = result else { break }
                result = ports.transact(step)
            }
            try #require(result == .done)
        }
        let message = try begin(3, by: &ports, peer)
        defer { ports.release(message) }
        expectEqual(ports.publish(tag: Self.tag), .queued)
        try expect(report(by: &ports, peer).failure, is: nil)
        peer.setDown()
        var answers: [Bool] = []
        // Each attempt waits for half a second.
        for _ in 0..<20 where answers.last ?? true {
            guard case .retry = ports.transact(.commit) else { throw KafkaError("it was ended") }
            var figures = ShardFigures()
            ports.addClients(to: &figures)
            answers.append(figures.isAnswered)
        }
        #expect(answers.first == true && answers.last == false)
    }

    @Test("An output that comes back unstored is no answer, one that is stored is")
    func returnedOutput() throws {
        let peer = try ServicePeer(producer: [("message.timeout.ms", "500")])
        var ports = try ports(of: peer)
        var isStored = false
        for attempt in 0..<60 where !isStored {
            peer.setLeader(of: "out", broker: attempt == 0 ? -1 : 1)
            let message = try begin(3, by: &ports, peer)
            defer { ports.release(message) }
            expectEqual(ports.publish(tag: Self.tag), .queued)
            isStored = try report(by: &ports, peer).failure == nil
            var figures = ShardFigures()
            ports.addClients(to: &figures)
            #expect(figures.isAnswered == isStored && !(isStored && attempt == 0))
        }
        #expect(isStored)
    }

    @Test("A held output is counted by its own outcome, whatever its entry was before")
    func heldFacts() throws {
        var ports = try ports()
        let deadLetters = { peer.environment.metrics.messages.deadLetters.map(\.value).reduce(0, +) }
        _ = try publish(by: &ports, isHeld: true)
        #expect(published[Outcome.passed.rawValue] == 1 && published.reduce(0, +) == 1)
        _ = try publish(by: &ports, isHeld: false, refusals: 1)
        #expect(published[Outcome.deadLetter.rawValue] == 1 && deadLetters() == 1)
        _ = try publish(by: &ports, isHeld: true)
        #expect(published[Outcome.passed.rawValue] == 2 && published.reduce(0, +) == 3 && deadLetters() == 1)
    }

    @Test(
        "A refused output's dead letter has its record's headers and says whether it was counted",
        arguments: [true, false])
    func letterHeaders(isCounted: Bool) throws {
        let collapse = String(repeating: "c", count: 65)
        let peer = try ServicePeer(
            headers: [("apns-collapse-id", collapse), ("pushmill-attempt", "2")],
            links: [ChainLink(BadgeStage(mode: .increment))])
        var ports = try ports(of: peer)
        let message = try begin(3, by: &ports, peer)
        defer { ports.release(message) }
        ports.refuseCurrent(reason: "bad", isCounted: isCounted)
        expectEqual(ports.publish(tag: Self.tag), .queued)
        _ = try report(by: &ports, peer)
        let stored = try peer.stored(in: "dead", at: 0).headers
        #expect(stored["n"] == "1" && stored["apns-collapse-id"] == collapse && stored["apns-id"] == nil)
        expect(stored["pushmill.error.attempt"], is: "3")
        expect(stored["pushmill-counted"], is: isCounted ? "true" : nil)
    }

    @Test("An output that the producer has no room for keeps its headers and is published later")
    func full() throws {
        // Room is made when a report is taken.
        let peer = try ServicePeer(producer: [("queue.buffering.max.messages", "1")])
        var ports = try ports(of: peer)
        let first = try begin(3, by: &ports, peer)
        expectEqual(ports.publish(tag: 3), .queued)
        ports.release(first)
        let second = try begin(4, by: &ports, peer)
        defer { ports.release(second) }
        for _ in 0..<2 { expectEqual(ports.publish(tag: 4), .later) }
        expectEqual(try report(by: &ports, peer).tag, 3)
        expectEqual(ports.publish(tag: 4), .queued)
        expectEqual(try report(by: &ports, peer).tag, 4)
        let stored = try (0..<2).map { try peer.stored(in: "out", at: $0).headers }
        expect(stored[1]["n"], is: "1")
        expect(stored[0].keys, is: stored[1].keys)
    }

    @Test("A refused output becomes a dead letter of its record; a refused letter only names it")
    func refused() throws {
        var ports = try ports()
        var offset: Int64 = 0
        for refusals in 1...2 {
            for isHeld in [false, true] {
                _ = try publish(by: &ports, isHeld: isHeld, refusals: refusals)
                let stored = try peer.stored(in: "dead", at: offset)
                offset += 1
                expect(stored.value, is: (refusals == 1 ? ServicePeer.value : nil))
                expect(stored.key, is: (refusals == 1 ? "anna" : "events/0/0"))
                expect(stored.headers["n"], is: (refusals == 1 ? "1" : nil))
                expect(stored.headers["pushmill.error.message"], is: "bad")
                expect(stored.headers["pushmill.error.offset"], is: "0")
            }
        }
        expect(peer.lines.count { $0.hasPrefix("the producer refused an output") }, is: 6)
    }

    @Test("An output that is refused for its timestamp becomes a dead letter of now", arguments: [false, true])
    func refusedTimestamp(isHeld: Bool) throws {
        var ports = try ports()
        let message = try begin(3, by: &ports, peer)
        defer { ports.release(message) }
        ports.refuseCurrent(reason: "INVALID_TIMESTAMP", isCounted: true)
        let held = isHeld ? ports.holdCurrent() : nil
        let step = if let held { ports.publish(held, tag: Self.tag) } else { ports.publish(tag: Self.tag) }
        expect(step, is: .queued)
        expectEqual(try report(by: &ports, peer).failure, nil)
        let record = try peer.record(of: "dead")
        defer { record.destroy() }
        #expect(record.timestamp > 1_700_000_000_000)
        try expect(peer.stored(in: "dead", at: 0).value, is: ServicePeer.value)
    }

    @Test(
        "A returned output, or a dead letter that only names its message, keeps its timestamp",
        arguments: [(0, "out"), (1, "dead"), (2, "dead")])
    func returned(refusals: Int, topic: String) throws {
        var ports = try ports()
        let message = try begin(3, by: &ports, peer)
        defer { ports.release(message) }
        for _ in 0..<refusals { ports.refuseCurrent(reason: "bad", isCounted: true) }
        peer.refuseOutput()
        expectEqual(ports.publish(tag: Self.tag), .queued)
        let returned = try requireValue(try report(by: &ports, peer).returned)
        // The producer that was refused an output takes nothing more.
        expectEqual(ports.replaceProducer(), true)
        expectEqual(ports.publish(returned, tag: Self.tag), .queued)
        expectEqual(try report(by: &ports, peer).failure, nil)
        let record = try peer.record(of: topic)
        defer { record.destroy() }
        expect(record.timestamp, is: (refusals < 2 ? 5 : returned.facts.timestamp))
        expect((record.timestamp > 1_700_000_000_000), is: (refusals == 2))
    }
}

@Suite("The headers of an output")
struct HeaderChangeTests {
    @Test(
        "Headers that the chain replaces are removed, and the others keep their order",
        arguments: [9, 100_000])
    func change(count: Int) {
        var headers = Headers()
        for number in 0..<count {
            headers.add("pushmill-stages", "x")
            headers.add("n", "\(number)")
        }
        headers.add("", nil)
        var output = OutputRecord()
        output.remove("pushmill-stages")
        output.add("pushmill-stages", value: "decrypt=ok")
        headers.change(by: output)
        let names = (0..<(headers.view?.count ?? 0)).compactMap { headers.view?.entry($0)?.name.count }
        expect(names, is: Array(repeating: 1, count: count) + [0, 15])
        let values = [count - 1, count + 1].map { headers.view?.entry($0)?.value.map { Array($0) } }
        expect(values, is: [Array("\(count - 1)".utf8), Array("decrypt=ok".utf8)])
    }
}
