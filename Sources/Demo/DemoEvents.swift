import PushmillCiphers
import PushmillKafka
import PushmillPayload
import PushmillReplay
import PushmillStages

/// Events as an app's backend would send them, to people of several languages.
struct DemoEvents {
    struct Event: Sendable {
        let recipient: String
        let locale: String
        let payload: String
        /// Seconds since 1970; nil for never.
        var expiration: Int?
    }

    private struct Person {
        let name: String
        let locale: String
        let text: String
        /// The identifier of a contact that the person may know.
        let contact: String

        /// For the contact stage to replace.
        var sender: String { "{contact:\(contact)}" }
    }

    private static let people = [
        Person(name: "anna", locale: "en-GB", text: "Dinner at eight?", contact: "c1"),
        Person(name: "ben", locale: "de-AT", text: "Der Zug hat 10 Minuten Verspätung", contact: "c3"),
        Person(name: "sofía", locale: "es-MX", text: "¿Vienes mañana?", contact: "c2"),
        Person(name: "dmitri", locale: "ru", text: "Позвони, когда сможешь", contact: "c1"),
        Person(name: "fatima", locale: "ar", text: "أراك في المساء", contact: "c2"),
        Person(name: "hana", locale: "ja", text: "駅に着きました 🚉", contact: "c1"),
        Person(name: "paweł", locale: "pl", text: "Kupisz chleb?", contact: "c3"),
        Person(name: "chloé", locale: "fr-CA, en;q=0.5", text: "On est en route 🚲", contact: "c4"),
    ]

    /// Only her messages wait for a server that hangs.
    private static let unlucky = Person(name: "olena", locale: "uk, en", text: "Дивись: example.com", contact: "c1")

    private let sealer: Sealer
    private let ring: KeyRing
    private var number = 0

    init() throws {
        sealer = try Sealer()
        ring = KeyRing(try KeySetReader(PackageResources.keys_jwks_json).keys)
    }

    /// Forty events in a row contain each kind at least once; one of them hangs.
    mutating func next() throws -> Event {
        defer { number += 1 }
        let person = Self.people[number * 5 % Self.people.count]
        let count = number % 7 + 1
        switch number % 20 {
        case 0, 8, 15: return chat(person, try seal(person.text, as: .jwe, "chat"), "chat")
        case 1, 11: return localized(person, "GAME", args: #""\#(person.sender)""#)
        case 2: return chat(person, try seal(person.text, as: .openSSL, "mail"), "mail")
        case 3: return event(person, #"{"aps":{"content-available":1},"sync":\#(number)}"#)
        case 4, 14: return localized(person, "PHOTOS", args: #"\#(count),"\#(person.sender)""#)
        case 5:
            let text = try seal("€ \(count * 7).90 · Café Central", as: .aesGCM, "bank")
            return event(person, alert(title: "Card payment", body: "You paid at a shop", encrypted(text, "bank")))
        case 6: return localized(person, "PARCEL", title: "PARCEL_TITLE", args: #""14:00","16:30""#)
        case 7: return event(person, #"{"aps":{"alert":{"title":"Cut off in the midd"#)
        case 9:
            let text = try seal("Unlocked at 18:0\(count)", as: .chaCha20, "lock")
            return event(person, alert(title: "Front door", body: "Something happened", encrypted(text, "lock")))
        case 10: return event(person, #"{"aps":{"alert":{"title":"News","body":"Nothing to change here"}}}"#)
        case 12: return plain(person, from: "{contact:c9}")
        // The last letters belong to the tag that reveals tampering.
        case 13: return chat(person, try seal(person.text, as: .jwe, "chat").dropLast(6) + "AAAAAA", "chat")
        case 16 where number % 40 == 16:
            return event(
                Self.unlucky,
                alert(title: Self.unlucky.sender, body: Self.unlucky.text, #""preview":"hangs","#))
        case 17 where number % 40 == 17:
            var late = plain(person, from: person.sender)
            late.expiration = 1_700_000_000
            return late
        case 18 where number % 40 == 18: return event(person, #"{"alert":"Not in its place"}"#)
        case 19 where number % 40 == 19: return localized(person, "NOT_IN_THE_CATALOG", args: "")
        default: return plain(person, from: person.sender)
        }
    }

    private func event(_ person: Person, _ payload: String) -> Event {
        Event(recipient: person.name, locale: person.locale, payload: payload)
    }

    private func alert(title: String, body: String, _ members: String = "") -> String {
        #"{\#(members)"aps":{"alert":{"title":"\#(title)","body":"\#(body)"},"badge":1,"mutable-content":1}}"#
    }

    private func plain(_ person: Person, from sender: String) -> Event {
        event(person, alert(title: sender, body: person.text))
    }

    private func chat(_ person: Person, _ ciphertext: String, _ key: String) -> Event {
        event(person, alert(title: person.sender, body: "New message", encrypted(ciphertext, key)))
    }

    /// Members of the payload, with a trailing comma.
    private func encrypted(_ ciphertext: String, _ key: String) -> String {
        #""ENCRYPTED_DATA":"\#(ciphertext)","ENCRYPTION_KEY_ID":"\#(key)","#
    }

    private func localized(_ person: Person, _ key: String, title: String? = nil, args: String) -> Event {
        let title = title.map { #""title-loc-key":"\#($0)","# } ?? ""
        let alert = #"{\#(title)"loc-key":"\#(key)","loc-args":[\#(args)]}"#
        return event(person, #"{"aps":{"alert":\#(alert),"badge":1,"mutable-content":1}}"#)
    }

    private func seal(_ text: String, as form: SealingForm, _ key: String) throws -> String {
        try sealer.seal(Array(text.utf8), as: form, ring, keyName: key).text
    }
}

/// Sends sample events, and recognizes their results by the `apns-id`, which the service does not change.
final class DemoFeed {
    private let signal = WakeSignal()
    private let producer: OutputProducer
    private let topic: OutputTopic
    private let capacity: Int
    private var events: DemoEvents
    /// Events whose results have not come yet, at most the latest `capacity`.
    private(set) var waiting: [String: (event: DemoEvents.Event, sent: ContinuousClock.Instant)] = [:]
    private let run = UInt32.random(in: 0 ... .max)
    private var count: UInt64 = 0

    init(servers: String, capacity: Int = 100_000) throws {
        self.capacity = capacity
        let properties = [("bootstrap.servers", servers), ("queue.buffering.max.messages", "\(capacity)")]
        producer = try OutputProducer(
            ClientProperties(properties), signal: signal, stopsAtRefusal: false, log: { _, _, _ in })
        topic = try producer.topic("push.events")
        events = try DemoEvents()
    }

    /// Waits while the producer has no room; false if `isOver` comes first.
    func send(until isOver: () -> Bool) throws -> Bool {
        let event = try events.next()
        count += 1
        let sent = ContinuousClock.now
        while !publish(event, identifier(count)) {
            if isOver() { return false }
            signal.wait(nanoseconds: 100_000_000)
            poll()
        }
        waiting[identifier(count)] = (event, sent)
        if count > capacity { waiting[identifier(count - UInt64(capacity))] = nil }
        return true
    }

    private func identifier(_ number: UInt64) -> String { "\(hex(run, 8))-0000-4000-8000-\(hex(number, 12))" }

    func poll() { producer.takeReports { _ in } }

    /// The event that the record came from; nil if it does not belong to this run.
    func take(_ record: RecordEnvelope) -> (event: DemoEvents.Event, sent: ContinuousClock.Instant)? {
        record.text("apns-id").flatMap { waiting.removeValue(forKey: $0) }
    }

    /// False if the producer has no room.
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
                    headers: &headers, timestamp: 0, tag: 0)
            }
        }
        if case .full = result { return false }
        return true
    }

    private func hex(_ number: some BinaryInteger, _ width: Int) -> String {
        String(number, radix: 16).aligned(to: width, by: "0")
    }
}
