import Glibc
import PushmillKafka

/// An event that was read from the output topic.
struct Arrival: Sendable {
    let event: Event
    let outcome: String
    /// `topic/partition/offset` of the input.
    let source: String
    let stages: String
    let time: ContinuousClock.Instant
    /// Milliseconds since the event's timestamp.
    let delay: Int64

    init(_ record: Record) {
        let value = record.value.map(Array.init) ?? []
        let digits = value.drop { $0 < UInt8(ascii: "0") || $0 > UInt8(ascii: "9") }
        let number = digits.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
            .reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        event = Event(key: record.key.map { String(decoding: $0, as: UTF8.self) } ?? "", number: number)
        outcome = record.header("pushmill-outcome") ?? ""
        source = record.header("pushmill-source") ?? ""
        stages = record.header("pushmill-stages") ?? ""
        time = .now
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        delay = Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000 - record.timestamp
    }
}

/// An output in full.
struct OutputValue: Hashable, Sendable {
    let key: String
    let value: String

    init(_ record: Record) {
        key = record.key.map { String(decoding: $0, as: UTF8.self) } ?? ""
        value = record.value.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    init(key: String, value: String) {
        self.key = key
        self.value = value
    }
}

/// A dead letter as it was published.
struct Letter: Equatable, Sendable {
    let key: String
    let value: [UInt8]?
    let reason: String
    /// The input's header.
    var locale: String?
}

extension Letter {
    init(_ record: Record) {
        self.init(
            key: record.key.map { String(decoding: $0, as: UTF8.self) } ?? "", value: record.value.map(Array.init),
            reason: record.header("pushmill.error.reason") ?? "", locale: record.header("locale"))
    }
}

extension Record {
    fileprivate func header(_ name: StaticString) -> String? {
        headers?.last(name).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension [Arrival] {
    /// All arrivals from the same input record but the first.
    var repeats: [Arrival] {
        var seen: Set<String> = []
        return filter { !seen.insert($0.source).inserted }
    }

    func missing(of events: [Event]) -> Set<Event> { Set(events).subtracting(map(\.event)) }

    /// Recipients with an event that first arrived after a later one of theirs.
    var keysOutOfOrder: Set<String> {
        var seen: Set<Event> = []
        var highest: [String: Int] = [:]
        var found: Set<String> = []
        for arrival in self where seen.insert(arrival.event).inserted {
            let event = arrival.event
            if let before = highest[event.key], before > event.number { found.insert(event.key) }
            highest[event.key] = Swift.max(highest[event.key] ?? event.number, event.number)
        }
        return found
    }
}
