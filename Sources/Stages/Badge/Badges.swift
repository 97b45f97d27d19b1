public import PushmillPayload

/// Counts in memory, by recipient and app.
package struct BadgeCounts: Sendable {
    private struct Key: Hashable {
        let recipient: [UInt8]
        let app: [UInt8]
    }

    private struct Count {
        var number: Int32
        /// False for a count that began at 0 because none was known: `start` is asked again until it knows one.
        var isKnown = true
    }

    private var counts: [Key: Count] = [:]
    private let start: Start

    /// The count to assume before a record; nil if unknown. Asked again until it is known.
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
    /// Reads counts as written by `pushmill badges export`: on each line an object with `recipient`, `app` and `count`.
    /// A name that is not UTF-8 is in base64, in a member with the suffix `_b64`.
    package init(_ file: InputFile) throws(FileFailure) {
        self.init()
        var lines = LineReader()
        let more = { (count: Int) throws(FileFailure) in
            guard count < 64 << 20 else { throw FileFailure(path: file.path, what: "a line is longer than 64 MiB") }
            return try file.next()
        }
        while let line = try lines.next(more) {
            guard line.contains(where: { $0 > 0x20 }) else { continue }
            guard let (key, count) = Self.entry(line) else {
                let expected = "an object with `recipient`, `app` and `count` (0 to 2147483647)"
                throw FileFailure(path: file.path, what: "line \(lines.number): expected \(expected)")
            }
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
    /// Nil if the member is neither text nor base64, or is missing and has no default.
    fileprivate func bytes(
        _ name: StaticString, _ encodedName: StaticString, orElse missing: [UInt8]? = nil
    ) -> [UInt8]? {
        let encoded = member(encodedName, of: root)
        guard let member = encoded ?? member(name, of: root) else { return missing }
        return bytes(of: member, isEncoded: encoded != nil)
    }
}

/// A stage that keeps a count for each recipient and app. It gets the count before the message in its context, and puts
/// the message's effect on it into `NotificationContent.badgeOperation`, which the shard carries out. Its edits need no
/// I/O, so `timeWillExpire` counts as `didReceive` does; a message that expired before its turn gets only
/// `timeWillExpire`.
public protocol CountingStage: Stage {
    /// A clearing push (badge 0, no alert) passes untouched. Returns the operation and the result to report.
    func didPass(clearing content: NotificationContent, context: StageContext) -> (BadgeOperation?, StageResult)
}
