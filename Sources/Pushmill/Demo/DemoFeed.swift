import PushmillKafka

/// Sends sample events, and knows them again by their `apns-id`, which comes out as it went in.
final class DemoFeed {
    private let producer: Producer
    private let topic: ProducerTopic
    private var events: DemoEvents
    private var waiting: [String: (event: DemoEvents.Event, sent: ContinuousClock.Instant)] = [:]
    private let run = UInt32.random(in: 0 ... .max)
    private var count: UInt64 = 0
    private var reports: [DeliveryReport] = []

    init(servers: String) throws {
        producer = try Producer(ClientProperties([("bootstrap.servers", servers)]), log: { _, _, _ in })
        topic = try producer.topic("push.events")
        events = try DemoEvents()
    }

    /// Waits where the producer has no room.
    func send() throws {
        let event = try events.next()
        count += 1
        let identifier = "\(hex(run, 8))-0000-4000-8000-\(hex(count, 12))"
        waiting[identifier] = (event, .now)
        while !publish(event, identifier) { producer.poll(milliseconds: 100, into: &reports) }
    }

    func poll() { producer.poll(milliseconds: 0, into: &reports) }

    /// The event that the record came from; nil if it is not of this run.
    func take(_ record: Record) -> (event: DemoEvents.Event, sent: ContinuousClock.Instant)? {
        guard let identifier = record.headers?.last("apns-id") else { return nil }
        return waiting.removeValue(forKey: String(decoding: identifier, as: UTF8.self))
    }

    /// False where there is no room.
    private func publish(_ event: DemoEvents.Event, _ identifier: String) -> Bool {
        var headers = Headers()
        headers.add("locale", event.locale)
        headers.add("apns-id", identifier)
        headers.add("apns-topic", "com.example.messenger")
        headers.add("traceparent", "00-\(hex(run, 8))\(hex(count, 24))-\(hex(count, 16))-01")
        if let expiration = event.expiration { headers.add("apns-expiration", "\(expiration)") }
        var (key, payload) = (event.recipient, event.payload)
        let result = key.withUTF8 { key in
            payload.withUTF8 { payload in
                producer.publish(
                    to: topic, key: UnsafeRawBufferPointer(key), value: UnsafeRawBufferPointer(payload),
                    headers: &headers, timestamp: 0, opaque: 0)
            }
        }
        if case .full = result { return false }
        return true
    }

    private func hex(_ number: some BinaryInteger, _ width: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
