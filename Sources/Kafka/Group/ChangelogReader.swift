internal import CPushmillRdKafka

/// Reads partitions of one topic up to their ends, outside any group. For one thread that never blocks in it.
package final class ChangelogReader {
    private let client: Client
    private let queue: OpaquePointer
    private let topic: String
    private let waker: FetchWaker
    /// Records given out since the broker threads were last woken.
    private var givenOut = 0
    /// With more records than this, a broker thread stops fetching, and checks again only after a second.
    private static let prefetched = 100_000
    /// Kept, so that librdkafka knows the topic.
    private var known: OpaquePointer?
    /// The next offset of each partition that is read; `Position.none` if its log does not hold that offset.
    private var next: [Int32: Int64] = [:]

    /// `properties` are a consumer's; `signal` is woken by records and ends.
    package init(
        _ topic: String, _ properties: ClientProperties, signal: WakeSignal, log: @escaping KafkaLogSink
    ) throws(KafkaError) {
        var properties = properties.outsideOfGroups(GroupConsumer.fixed, tellsEnds: true)
        // A follower may lag behind what its leader has acknowledged.
        properties["client.rack"] = nil
        properties["queued.min.messages"] = "\(Self.prefetched)"
        client = try Client(RD_KAFKA_CONSUMER, properties, log: log)
        queue = try client.consumerQueue()
        waker = FetchWaker(client)
        self.topic = topic
        // This requests the leaders at once, or as soon as there is a connection. For a topic that becomes known by
        // being read, librdkafka waits up to a second to do so (`rd_kafka_topic_scan_all`).
        known = try client.topic(topic)
        signal.watch(queue)
    }

    deinit {
        WakeSignal.endWatch(of: queue)
        rd_kafka_queue_destroy(queue)
        if let known { rd_kafka_topic_destroy(known) }
    }

    /// From now on reads exactly these. One already being read at that offset continues undisturbed.
    package func replicate(_ starts: [(partition: Int32, offset: Int64)]) throws(KafkaError) {
        let fresh = starts.filter { next[$0.partition] != $0.offset }
        let staying = Set(starts.map(\.partition)).subtracting(fresh.map(\.partition))
        let gone = next.keys.filter { !staying.contains($0) }
        if !gone.isEmpty {
            try client.unassign(gone.map { TopicPartition(topic, $0) })
            for partition in gone { next[partition] = nil }
        }
        guard !fresh.isEmpty else { return }
        try client.assign(fresh.map { Position(TopicPartition(topic, $0.partition), offset: $0.offset) })
        for start in fresh { next[start.partition] = start.offset }
    }

    /// Calls `body` for up to `limit` received records and ends. False if there may be more.
    package func poll(limit: Int, _ body: (ChangelogEvent) -> Void) -> Bool {
        for _ in 0..<limit {
            guard let message = rd_kafka_consume_queue(queue, 0) else { return true }
            if let event = event(message) { body(event) }
            rd_kafka_message_destroy(message)
        }
        return false
    }

    private func event(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> ChangelogEvent? {
        let (partition, offset) = (message.pointee.partition, message.pointee.offset)
        switch message.pointee.err {
        case RD_KAFKA_RESP_ERR_NO_ERROR:
            guard next[partition] != nil else { return nil }
            next[partition] = offset &+ 1
            countGivenOut()
            let record = Record(message, topic: 0)
            let timestamp = record.timestampKind == .create ? record.timestamp : -1
            return .record(
                partition: partition, offset: offset, timestamp: timestamp, key: record.key, value: record.value)
        case RD_KAFKA_RESP_ERR__PARTITION_EOF:
            guard next[partition] != nil else { return nil }
            next[partition] = offset
            var (low, high): (Int64, Int64) = (0, 0)
            let code = rd_kafka_get_watermark_offsets(client.handle, topic, partition, &low, &high)
            // The high watermark of that fetch or a later one: another end follows what came in between.
            let isWhole = code == RD_KAFKA_RESP_ERR_NO_ERROR && offset >= high
            return .end(partition: partition, offset: offset, isWhole: isWhole)
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
            guard next[partition] != nil else { return nil }
            next[partition] = Position.none
            return .outOfLog(partition: partition)
        default: return .failed(KafkaError(of: message))
        }
    }

    private func countGivenOut() {
        givenOut += 1
        guard givenOut >= Self.prefetched / 4 else { return }
        givenOut = 0
        waker.wakeLeaders(of: Set(next.keys.lazy.map { TopicPartition(self.topic, $0) }))
    }

    /// The most records that are left to read, as far as that is known.
    package var left: Int64 {
        next.reduce(0) { sum, reading in
            var (low, high): (Int64, Int64) = (0, 0)
            let code = rd_kafka_get_watermark_offsets(client.handle, topic, reading.key, &low, &high)
            guard code == RD_KAFKA_RESP_ERR_NO_ERROR, high > 0, reading.value != Position.none else { return sum }
            return sum + max(0, high - max(low, reading.value))
        }
    }
}

package enum ChangelogEvent {
    /// The bytes are valid during the call only. The timestamp is the producer's, in ms since 1970; -1 for none.
    case record(
        partition: Int32, offset: Int64, timestamp: Int64, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?)
    /// Everything before the offset was read. Not `isWhole`: an open transaction precedes the end of the log.
    case end(partition: Int32, offset: Int64, isWhole: Bool)
    /// The log does not hold the offset to be read: reading resumes when `replicate` names another.
    case outOfLog(partition: Int32)
    /// Only to be logged.
    case failed(KafkaError)
}
