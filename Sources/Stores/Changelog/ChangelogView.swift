import Push

/// The counts that the records of one partition of a changelog come to, in memory: for those who look at them or put them
/// right.
package struct ChangelogView {
    /// By the records' keys.
    private var counts: [[UInt8]: Int32] = [:]

    package init() {}

    package mutating func apply(key: [UInt8]?, value: [UInt8]?) throws(ChangelogRecord.Malformed) {
        guard let key else { throw .noKey }
        try key.span.bytes.withUnsafeBytes { (key) throws(ChangelogRecord.Malformed) in
            _ = try ChangelogRecord.account(key)
        }
        let count = try value.count()
        counts[key] = count == 0 ? nil : count
    }

    /// The keys of one recipient's counts.
    package func keys(of recipient: RawSpan) -> [[UInt8]] {
        let wanted = recipient.withUnsafeBytes { Array($0) }
        return counts.keys.filter { key in
            key.withUnsafeBytes { key in
                (try? ChangelogRecord.account(key)).map { $0.recipient.elementsEqual(wanted) } == true
            }
        }
    }

    /// Every count, or one recipient's, as `BadgeTable` gives them. Returns their number.
    package func exportLines(recipient: RawSpan? = nil, _ body: ([UInt8]) -> Void) -> Int {
        var lines = LineBatch()
        let keys = if let recipient { keys(of: recipient) } else { Array(counts.keys) }
        for key in keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            key.withUnsafeBytes { bytes in
                guard let account = try? ChangelogRecord.account(bytes), let count = counts[key] else { return }
                lines.add(handOver: body) { line in
                    line.add("recipient", account.recipient.bytes)
                    line.add("app", account.app.bytes)
                    line.add("count", count)
                }
            }
        }
        return lines.finish(handOver: body)
    }
}

extension [UInt8]? {
    fileprivate func count() throws(ChangelogRecord.Malformed) -> Int32 {
        guard let self else { return 0 }
        return try self.span.bytes.withUnsafeBytes { (bytes) throws(ChangelogRecord.Malformed) in
            try ChangelogRecord.count(bytes)
        }
    }
}
