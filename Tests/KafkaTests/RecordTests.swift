import PushmillKafka
import PushmillTestSupport
import Testing

@Suite("Records over the wire", .serialized, .ownThread)
struct RecordTests {
    @Test("Tombstones, null and empty keys, null and duplicate headers and timestamps survive")
    func survive() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        let headers: [(String, String?)] = [("a", "1"), ("a", "2"), ("n", nil), ("e", "")]
        _ = try peer.publish("v", key: "k", to: "t", headers: headers, timestamp: 1_700_000_000_123)
        _ = try peer.publish(nil, key: "tomb", to: "t", timestamp: 1)
        _ = try peer.publish("", key: nil, to: "t", timestamp: 2)
        _ = try peer.publish("x", key: "", to: "t", timestamp: 3)
        #expect(peer.reports(4).allSatisfy { $0.error == nil && $0.returned == nil })
        let read = try peer.reader().read(4, of: "t")
        expect(
            read,
            is: [
                Copied(
                    key: "k", value: "v", timestamp: 1_700_000_000_123, offset: 0,
                    headers: [["a", "1"], ["a", "2"], ["n", nil], ["e", ""]]),
                Copied(key: "tomb", value: nil, timestamp: 1, offset: 1, headers: []),
                Copied(key: nil, value: "", timestamp: 2, offset: 2, headers: []),
                Copied(key: "", value: "x", timestamp: 3, offset: 3, headers: []),
            ])
    }

    @Test("All records of a partition that are looked for are found in one call, except distant ones")
    func look() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 2)
        try peer.fill("t", partitions: 2, each: 30)
        let properties = [("bootstrap.servers", peer.cluster.bootstrapServers), ("auto.offset.reset", "error")]
        let reader = try PartitionReader(ClientProperties(properties), tellsEnds: true, log: { _, _, _ in })
        let (zero, one) = (TopicPartition("t", 0), TopicPartition("t", 1))
        let asked = [29, 3, 40, 5, 10_003].map { Position(zero, offset: $0) } + [Position(one, offset: 7)]
        var found: [Position: String?] = [:]
        try reader.look(at: asked) { found[$0] = .some($1.map { text($0.value) ?? "null" }) }
        expect(found[Position(zero, offset: 3)], is: "3")
        expect(found[Position(zero, offset: 5)], is: "5")
        expect(found[Position(zero, offset: 29)], is: "29")
        expect(found[Position(zero, offset: 40)], is: .some(nil))
        expect(found[Position(one, offset: 7)], is: "7")
        expect(found.count, is: 5)
        // Only the first position outside of the log is known to be: behind it the log may go on.
        let outside = [31, 32].map { Position(one, offset: $0) }
        found = [:]
        while found.isEmpty { try reader.look(at: outside) { found[$0] = .some($1.map { _ in "" }) } }
        expect(found, is: [outside[0]: nil])
    }

    @Test("The partition of a key is the one a Java client chooses", arguments: [("anna", 64), ("ben", 64), ("", 64)])
    func murmur2(key: String, partitions: Int) throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: partitions)
        _ = try peer.publish("v", key: key, to: "t", partition: nil)
        #expect(peer.reports(1).first?.error == nil)
        let expected = Int32(Int(murmur2(Array(key.utf8)) & 0x7fff_ffff) % partitions)
        let range = try peer.reader().range(of: TopicPartition("t", expected), milliseconds: 60_000)
        expect(range.upperBound, is: 1)
    }

    @Test("Detached headers outlive their record, without those that were removed")
    func moveHeaders() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        _ = try peer.publish("v", to: "t", headers: [("keep", "1"), ("drop", "2"), ("drop", "3")])
        _ = peer.reports(1)
        let reader = try peer.reader()
        try reader.read(from: [Position(TopicPartition("t", 0), offset: 0)])
        let record = reader.first()
        var headers = record.detachHeaders()
        expect(text(headers.view?.last("drop")), is: "3")
        withBytes("drop\0") { if let name = $0 { headers.remove(zeroTerminated: name) } }
        headers.add("new", "4")
        record.destroy()
        expect(text(headers.view?.last("keep")), is: "1")
        #expect(headers.view?.last("drop") == nil)
        expect(headers.view?.count, is: 2)
        #expect(headers.view?.entry(2) == nil)
    }

    @Test("Removing thousands of headers keeps the others in their order")
    func removeAll() {
        var headers = Headers()
        for number in 0..<5000 {
            headers.add("drop", "x")
            headers.add("keep", "\(number)")
        }
        headers.add("empty", "")
        headers.add("null", nil)
        headers.removeAll { $0.elementsEqual("drop".utf8) }
        expect(headers.view?.count, is: 5002)
        let kept = (0..<5000).compactMap { text(headers.view?.entry($0)?.value) }
        expect(kept, is: (0..<5000).map { "\($0)" })
        #expect(headers.view?.last("drop") == nil && text(headers.view?.last("keep")) == "4999")
        expect(headers.view?.entry(5000)?.value?.count, is: 0)
        #expect(headers.view?.entry(5001)?.value == nil)
    }

    @Test("An owned record equals the lent one, and keeps its headers when they are detached")
    func owned() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        _ = try peer.publish("v", key: "k", to: "t", headers: [("a", "1"), ("n", nil)], timestamp: 7)
        _ = try peer.publish(nil, key: "", to: "t", timestamp: 8)
        _ = peer.reports(2)
        let reader = try peer.reader()
        try reader.read(from: [Position(TopicPartition("t", 0), offset: 0)])
        let first = reader.first().owned()
        #expect(text(first.key) == "k" && text(first.value) == "v" && first.timestamp == 7 && first.offset == 0)
        for _ in 0..<2 {
            let headers = first.detachHeaders()
            #expect(headers.view?.count == 2 && text(headers.view?.last("a")) == "1")
        }
        expect(first.headers?.count, is: 2)
        first.owned().destroy()
        let second = reader.first().owned()
        #expect(second.key?.count == 0 && second.value == nil && second.headers == nil && second.offset == 1)
        #expect(second.detachHeaders().view == nil)
        second.destroy()
    }

    @Test("Header sizes include the overhead of each header, in lent and owned records")
    func headerByteCount() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        let headers: [(String, String?)] = Array(repeating: ("h", nil), count: 1000)
        _ = try peer.publish("v", to: "t", headers: headers)
        _ = try peer.publish("v", to: "t")
        _ = peer.reports(2)
        let reader = try peer.reader()
        try reader.read(from: [Position(TopicPartition("t", 0), offset: 0)])
        let lent = reader.first()
        let count = lent.headerByteCount
        // What librdkafka allocates for a header without a value: five words, and one for it in the list.
        #expect(count >= 1000 * 6 * MemoryLayout<Int>.size)
        let owned = lent.owned()
        expect(owned.headerByteCount, is: count)
        owned.destroy()
        let bare = reader.first()
        #expect(bare.offset == 1 && bare.headerByteCount == 0)
        bare.destroy()
    }

    /// Austin Appleby's MurmurHash2 with Kafka's seed, as other Kafka clients use it.
    private func murmur2(_ data: [UInt8]) -> UInt32 {
        let (m, r): (UInt32, UInt32) = (0x5bd1_e995, 24)
        var h = 0x9747_b28c ^ UInt32(data.count)
        var index = 0
        while index + 4 <= data.count {
            var k = (0..<4).reduce(UInt32(0)) { $0 | UInt32(data[index + $1]) << (8 * UInt32($1)) }
            k = k &* m
            k ^= k >> r
            h = (h &* m) ^ (k &* m)
            index += 4
        }
        let rest = data.count - index
        if rest == 3 { h ^= UInt32(data[index + 2]) << 16 }
        if rest >= 2 { h ^= UInt32(data[index + 1]) << 8 }
        if rest >= 1 { h = (h ^ UInt32(data[index])) &* m }
        h = (h ^ (h >> 13)) &* m
        return h ^ (h >> 15)
    }

    @Test("A reader can be repositioned repeatedly and destroyed at once")
    func hurry() throws {
        let peer = try Peer()
        try peer.cluster.createTopic("t", partitions: 1)
        _ = try peer.publish("v", to: "t")
        _ = peer.reports(1)
        let properties = ClientProperties([("bootstrap.servers", peer.cluster.bootstrapServers)])
        let positions = [Position(TopicPartition("t", 0), offset: 0)]
        for _ in 0..<10 {
            let reader = try PartitionReader(properties, log: { _, _, _ in })
            try reader.read(from: positions)
            let record = reader.first()
            expect(record.offset, is: 0)
            record.destroy()
            // Without `awaitStops`, librdkafka would end the process.
            for _ in 0..<3 { try reader.read(from: positions) }
            for record in reader.poll(milliseconds: 0).records { record.destroy() }
        }
    }

    @Test("A reader takes each record once from any position, and at most `limit` per poll")
    func everyRecord() throws {
        let peer = try Peer()
        let partitions: Int32 = 50
        try peer.cluster.createTopic("t", partitions: Int(partitions))
        for partition in 0..<partitions {
            for value in 0..<3 { _ = try peer.publish("\(value)", to: "t", partition: partition) }
        }
        _ = peer.reports(3 * Int(partitions))
        let reader = try peer.reader()
        for round in 0..<30 {
            let begin = Int64(round % 3)
            try reader.read(from: (0..<partitions).map { Position(TopicPartition("t", $0), offset: begin) })
            var next = [Int64](repeating: begin, count: Int(partitions))
            while next.contains(where: { $0 < 3 }) {
                let records = reader.poll(milliseconds: 60_000, limit: 20).records
                try #require((1...20).contains(records.count), "round \(round): \(next)")
                for record in records {
                    expect(record.offset, is: next[Int(record.partition)])
                    next[Int(record.partition)] = record.offset + 1
                    record.destroy()
                }
                // The reader is also repositioned before it has read everything.
                if round % 3 == 1 { break }
            }
        }
    }
}

extension PartitionReader {
    fileprivate func first() -> Record {
        while true {
            if let record = poll(milliseconds: 100, limit: 1).records.first { return record }
        }
    }
}
