/// Events such as a messenger's backend would send, the same in every run.
struct DemoEvents {
    struct Event {
        let key: String
        let payload: String
    }

    private static let people = ["anna", "ben", "chiara", "dmitri", "emeka", "fatima", "goran", "hana"]
    private static let texts = [
        "Dinner at eight?", "Der Zug hat 10 Minuten Verspätung", "写真を送りました 📷", "¿Vienes mañana?",
        "Your parcel is at the door", "Спасибо!", "On my way 🚲",
    ]

    private var number = 0

    /// One in twenty cannot be a notification, and one in ten is silent.
    mutating func next() -> Event {
        defer { number += 1 }
        let key = Self.people[number * 5 % Self.people.count]
        let text = Self.texts[number % Self.texts.count]
        let payload =
            switch number % 20 {
            case 7: #"{"aps":{"alert":"\#(text)""#
            case 3, 13: #"{"aps":{"content-available":1},"sync":\#(number)}"#
            default: #"{"aps":{"alert":{"title":"Message \#(number)","body":"\#(text)"},"mutable-content":1}}"#
            }
        return Event(key: key, payload: payload)
    }
}
