import Push
import Testing

@testable import Stores

/// One lane's counts and what is settled of them.
final class Counts {
    var live: LiveCounts
    var settled = SettledCounts()
    let progress = JournalProgress()
    /// Of the messages that begin.
    var lease = CountLease()

    init(capacity: Int = 100) { live = LiveCounts(capacity: capacity, progress: progress) }

    func begin(_ recipient: String, stored: Int32 = 0) throws(StoreError) -> LiveCounts.Slot {
        try recipient.withBytes { (recipient) throws(StoreError) in
            let app = "".utf8Span.span.bytes
            guard let slot = try live.begin(recipient: recipient, app: app, lease: lease, load: { stored }) else {
                throw .damaged(path: "memory", what: "a slot that another message has")
            }
            return slot
        }
    }

    /// One message from begin to end.
    func process(
        _ recipient: String, _ operation: BadgeOperation?, stored: Int32 = 0
    ) throws(StoreError) -> BadgeChange? {
        let slot = try begin(recipient, stored: stored)
        live.end(slot, operation)
        return operation.map(slot.change)
    }

    func count(_ recipient: String, stored: Int32 = -1) throws(StoreError) -> Int32 {
        let slot = try begin(recipient, stored: stored)
        defer { live.end(slot, nil) }
        return slot.count
    }

    /// The offsets that are released.
    func acknowledge(_ change: BadgeChange?, at offset: Int64) throws -> [Int64] {
        var released: [Int64] = []
        let source = SourceOffset(assignment: 0, offset: offset)
        settled.acknowledge(try #require(change), of: source) { released.append($0.offset) }
        return released
    }

    func giveUp(_ change: BadgeChange?, assignment: Int = 0) throws -> [Int64] {
        var released: [Int64] = []
        let source = SourceOffset(assignment: assignment, offset: -1)
        settled.giveUp(try #require(change), of: source) { released.append($0.offset) }
        return released
    }

    /// What the next checkpoint holds: `anna=1`.
    func take() -> [String] { settled.take().texts }
}

extension CountBatch {
    var texts: [String] {
        counts.map { account, state in account.key.withParts { name, _ in "\(name.text)=\(state.count)" } }.sorted()
    }
}
