import Glibc
import PushmillKafka
import Synchronization

/// Publishes events to the input, and tells when they are stored.
final class Feeder: Sendable {
    private let properties: ClientProperties
    private let topic: String
    /// Each serves one publication at a time.
    private let idle = Mutex<[Publisher]>([])

    init(_ brokers: Brokers, topic: String) throws {
        properties = brokers.properties([("linger.ms", "5"), ("queue.buffering.max.messages", "1000000")])
        self.topic = topic
        idle.withLock { [first = try Publisher(properties, topic)] in $0.append(first) }
    }

    /// Returns when the brokers have stored them all. `rate` is in events per second, nil for as fast as possible.
    func publish(_ events: [Event], rate: Int? = nil) async throws {
        try await elsewhere { try self.publishAll(events.map { ($0.key, $0.payload) }, rate: rate) }
    }

    /// All records get the same headers, and go to one partition or to those of their keys.
    func publish(
        _ records: [(key: String, value: [UInt8]?)], to partition: Int32? = nil,
        headers: [(name: String, value: String)] = [], rate: Int? = nil
    ) async throws {
        try await elsewhere { try self.publishAll(records, to: partition, headers: headers, rate: rate) }
    }

    private func publishAll(
        _ records: [(key: String, value: [UInt8]?)], to partition: Int32? = nil,
        headers: [(name: String, value: String)] = [], rate: Int?
    ) throws {
        let begin = ContinuousClock.now
        let publisher = try idle.withLock { $0.popLast() } ?? Publisher(properties, topic)
        defer { idle.withLock { $0.append(publisher) } }
        var awaited = 0
        func poll(_ milliseconds: Int64) throws {
            publisher.signal.wait(nanoseconds: milliseconds * 1_000_000)
            var failure: KafkaError?
            publisher.producer.takeReports { report in
                failure = failure ?? report.error
                awaited -= 1
            }
            if let failure { throw failure }
        }
        for (index, record) in records.enumerated() {
            if let rate {
                let due = begin + .nanoseconds(index * 1_000_000_000 / rate)
                while due > .now { try poll(1) }
            }
            while try !publisher.queue(record, partition, headers) { try poll(100) }
            awaited += 1
            if index % 64 == 0 { try poll(0) }
        }
        while awaited > 0 { try poll(100) }
    }

}

/// Unchecked because only one publication uses it at a time.
private final class Publisher: @unchecked Sendable {
    let signal = WakeSignal()
    let producer: OutputProducer
    private let topic: OutputTopic
    private let made = ContinuousClock.now

    init(_ properties: ClientProperties, _ name: String) throws {
        producer = try OutputProducer(properties, signal: signal, stopsAtRefusal: false, log: { _, _, _ in })
        topic = try producer.topic(name)
    }

    func queue(
        _ record: (key: String, value: [UInt8]?), _ partition: Int32?, _ named: [(name: String, value: String)]
    ) throws -> Bool {
        var headers = Headers()
        for var (name, value) in named {
            name.withUTF8 { name in
                value.withUTF8 { headers.add(UnsafeRawBufferPointer(name), UnsafeRawBufferPointer($0)) }
            }
        }
        var key = record.key
        let result = key.withUTF8 { key in
            func publish(_ value: UnsafeRawBufferPointer?) -> PublishResult {
                producer.publish(
                    to: topic, partition: partition, key: UnsafeRawBufferPointer(key), value: value,
                    headers: &headers, timestamp: 0, tag: 0)
            }
            return record.value?.withUnsafeBytes(publish) ?? publish(nil)
        }
        switch result {
        case .queued: return true
        case .full: return false
        // Brokers learn of a new topic one after another.
        case .refused(let error) where error.name == "_UNKNOWN_PARTITION" && .now < made + .seconds(30): return false
        case .refused(let error): throw error
        }
    }
}
