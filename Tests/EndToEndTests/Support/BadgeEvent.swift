import PushmillTestSupport

/// An event that changes a badge, and the output that it must become.
struct BadgeEvent: Sendable {
    let key: String
    let number: Int
    /// What it adds; 0 resets.
    let increment: Int
    /// The recipient's count after it.
    let count: Int

    /// A clearing push has nothing to show.
    private var isClearing: Bool { increment == 0 && number % 2 == 0 }

    private func payload(_ badge: Int) -> String {
        isClearing
            ? #"{"n":\#(number),"aps":{"mutable-content":1,"badge":\#(badge)}}"#
            : #"{"n":\#(number),"aps":{"mutable-content":1,"alert":"hello","badge":\#(badge)}}"#
    }

    var input: (key: String, value: [UInt8]) { (key, Array(payload(increment).utf8)) }

    var output: OutputValue { OutputValue(key: key, value: payload(count)) }

    /// Recipients get random increments and resets; one in `every` is marked.
    static func series(
        _ total: Int, recipients: Int, marking every: Int, seed: UInt64, counts: inout [String: Int]
    ) -> [BadgeEvent] {
        var random = SeededGenerator(seed: seed)
        return (0..<total).map { number in
            let recipient = Int.random(in: 0..<recipients, using: &random)
            let key = "\(recipient % every == 0 ? "slow" : "k")\(recipient)"
            let increment = max(0, Int.random(in: -1...5, using: &random))
            let count = increment == 0 ? 0 : counts[key, default: 0] + increment
            counts[key] = count
            return BadgeEvent(key: key, number: number, increment: increment, count: count)
        }
    }
}
