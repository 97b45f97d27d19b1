public import PushmillPayload

/// Counts in memory, of a recipient in an app.
package struct BadgeCounts: Sendable {
    private struct Key: Hashable {
        let recipient: [UInt8]
        let app: [UInt8]
    }

    private struct Count {
        var number: Int32
        /// False for one that began at 0 because nothing was known of it: it is, once a record tells.
        var isKnown = true
    }

    private var counts: [Key: Count] = [:]
    private let start: Start

    /// What the count is taken to be before a record; nil where that is not known. Asked until it is.
    package typealias Start = @Sendable (InputRecord) -> Int32?

    package init(start: @escaping Start = { _ in 0 }) { self.start = start }

    /// The count of the record's recipient in the app of its `apns-topic`.
    subscript(record: InputRecord) -> Int32 { count(before: record, Self.key(record)).number }

    mutating func apply(_ operation: BadgeOperation, _ record: InputRecord) {
        let key = Self.key(record)
        var count = count(before: record, key)
        count.number = operation.applied(to: count.number)
        if case .set = operation { count.isKnown = true }
        counts[key] = count
    }

    private func count(before record: InputRecord, _ key: Key) -> Count {
        let count = counts[key]
        if let count, count.isKnown { return count }
        return start(record).map { Count(number: $0) } ?? count ?? Count(number: 0, isKnown: false)
    }

    private static func key(_ record: InputRecord) -> Key {
        Key(recipient: record.recipient.map(Array.init) ?? [], app: record.app.map(Array.init) ?? [])
    }
}

// MARK: - As text

extension BadgeCounts {
    /// Reads counts as `pushmill badges export` writes them: on each line an object with `recipient`, `app` and `count`;
    /// a name is in base64, and so in a member with `_b64`, where it is no UTF-8.
    package init(lines: [UInt8]) throws(BadgeCountsError) {
        self.init()
        for (index, line) in lines.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            guard line.contains(where: { $0 > 0x20 }) else { continue }
            guard let (key, count) = Self.entry(line) else { throw BadgeCountsError(line: index + 1) }
            counts[key] = Count(number: count)
        }
    }

    private static func entry(_ line: ArraySlice<UInt8>) -> (Key, Int32)? {
        guard let document = try? JSONDocument(String(decoding: line, as: UTF8.self)),
            let recipient = document.bytes("recipient", "recipient_b64"),
            let app = document.bytes("app", "app_b64", orElse: []),
            let count = document.member("count", of: document.root).flatMap(document.integer),
            let number = Int32(exactly: count), number >= 0
        else { return nil }
        return (Key(recipient: recipient, app: app), number)
    }
}

extension JSONDocument {
    /// Nil for what is neither text nor base64, and for nothing where nothing else is meant by that.
    fileprivate func bytes(
        _ name: StaticString, _ encodedName: StaticString, orElse missing: [UInt8]? = nil
    ) -> [UInt8]? {
        let encoded = member(encodedName, of: root)
        guard let member = encoded ?? member(name, of: root) else { return missing }
        return bytes(of: member, isEncoded: encoded != nil)
    }
}

package struct BadgeCountsError: Error, CustomStringConvertible {
    let line: Int

    package var description: String {
        "line \(line): expected an object with `recipient`, `app` and `count` (0 to 2147483647)"
    }
}

/// The stage that keeps a count for each recipient and app. It reads the count before the message in its context, and
/// leaves what the message does to it in `NotificationContent.badgeOperation`, which the shard carries out. Its edits
/// need no I/O, so `timeWillExpire` counts as `didReceive` does; a message that had expired before its turn gets that
/// one alone.
public protocol CountingStage: Stage {
    /// A clearing push, of badge 0 and without an alert, passes untouched. Tells the operation and what to report.
    func didPass(clearing content: NotificationContent, context: StageContext) -> (BadgeOperation?, StageResult)
}
