import Glibc
import PushmillKafka

/// Publishes events to the input, and tells when they are stored.
final class Feeder: Sendable {
    private let producer: Producer
    private let topic: ProducerTopic

    init(_ brokers: Brokers, topic: String) throws {
        let properties = brokers.properties([("linger.ms", "5"), ("queue.buffering.max.messages", "1000000")])
        producer = try Producer(properties, log: { _, _, _ in })
        self.topic = try producer.topic(topic)
    }

    /// Returns when the brokers have stored them all. `rate` is in events a second, nil for as fast as can be.
    func publish(_ events: [Event], rate: Int? = nil) async throws {
        try await elsewhere { try self.publishAll(events.map { ($0.key, $0.payload) }, rate: rate) }
    }

    /// All with the same headers, to one partition or to those of their keys.
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
        var reports: [DeliveryReport] = []
        var awaited = 0
        func poll(_ milliseconds: Int32) throws {
            producer.poll(milliseconds: milliseconds, into: &reports)
            if let error = reports.lazy.compactMap(\.error).first { throw error }
            awaited -= reports.count
        }
        for (index, record) in records.enumerated() {
            if let rate {
                let due = begin + .nanoseconds(index * 1_000_000_000 / rate)
                while due > .now { try poll(1) }
            }
            while try !queue(record, partition, headers) { try poll(100) }
            awaited += 1
            if index % 64 == 0 { try poll(0) }
        }
        while awaited > 0 { try poll(100) }
    }

    private func queue(
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
                    headers: &headers, timestamp: 0, opaque: 0)
            }
            return record.value?.withUnsafeBytes(publish) ?? publish(nil)
        }
        switch result {
        case .queued: return true
        case .full: return false
        case .refused(let error): throw error
        }
    }
}
