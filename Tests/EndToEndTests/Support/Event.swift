/// What a test publishes: the number tells the events of one recipient apart.
struct Event: Hashable, Sendable {
    let key: String
    let number: Int

    /// The payload of a notification that runs through the chain.
    var payload: [UInt8] { Array(#"{"n":\#(number),"aps":{"mutable-content":1,"alert":"hello"}}"#.utf8) }

    /// Each recipient gets its events in turn; one in `every` is marked.
    static func series(_ count: Int, keys: Int, from start: Int = 0, marking every: Int? = nil) -> [Event] {
        (start..<start + count).map { index in
            let key = index % keys
            let isMarked = every.map { key % $0 == 0 } ?? false
            return Event(key: "\(isMarked ? "slow" : "k")\(key)", number: index / keys)
        }
    }

    var isMarked: Bool { key.hasPrefix("slow") }
}
