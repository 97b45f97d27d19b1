import PushmillStages
package import PushmillStores

/// The counts that the records of one partition of a changelog come to, in memory: for those who look at them or put them
/// right.
package struct ChangelogView {
    /// By the records' keys.
    private var states: [[UInt8]: CountState] = [:]

    package init() {}

    /// Of two records of an account that of the later event is right; of two of the same event the last one.
    package mutating func apply(key: [UInt8]?, value: [UInt8]?) throws(ChangelogRecord.Malformed) {
        guard let key else { throw .noKey }
        let state = try Self.state(key, value)
        if let known = states[key], state < known { return }
        states[key] = state
    }

    private static func state(_ key: [UInt8], _ value: [UInt8]?) throws(ChangelogRecord.Malformed) -> CountState {
        _ = try key.span.bytes.withUnsafeBytes { (key) throws(ChangelogRecord.Malformed) in
            try ChangelogRecord.account(key).recipient.count
        }
        guard let value else { return CountState(count: 0) }
        return try value.span.bytes.withUnsafeBytes { (value) throws(ChangelogRecord.Malformed) in
            try ChangelogRecord.state(value)
        }
    }

    /// The account's state, 0 of an unknown event where there is none.
    package func state(ofKey key: [UInt8]) -> CountState { states[key] ?? CountState(count: 0) }

    /// The keys of one recipient's counts, but for those that are 0.
    package func keys(of recipient: [UInt8]) -> [[UInt8]] {
        states.filter { $0.value.count > 0 }.keys.filter { key in
            key.withUnsafeBytes { key in
                (try? ChangelogRecord.account(key)).map { $0.recipient.elementsEqual(recipient) } == true
            }
        }
    }

    /// Every count but 0, or one recipient's, as JSON Lines. Returns their number.
    package func exportLines(recipient: [UInt8]? = nil, _ body: ([UInt8]) -> Void) -> Int {
        var lines = LineBatch()
        let keys = if let recipient { keys(of: recipient) } else { Array(states.filter { $0.value.count > 0 }.keys) }
        for key in keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            key.withUnsafeBytes { bytes in
                guard let account = try? ChangelogRecord.account(bytes), let state = states[key] else { return }
                lines.add(handOver: body) { line in
                    line.add("recipient", account.recipient.bytes)
                    line.add("app", account.app.bytes)
                    line.add("count", state.count)
                }
            }
        }
        return lines.finish(handOver: body)
    }
}
