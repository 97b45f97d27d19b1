import PushmillStages
import PushmillStores

/// How far a partition's changelog is known to its owner, and whether somebody else writes there.
struct ChangelogProgress {
    /// The changelog is not reread more often, however often others write there.
    private static let rereadsEvery = Duration.seconds(10)

    /// The last record that this shard is known to have stored.
    private(set) var lastStored: RecordPosition?
    /// Up to where the changelog is known: read, or written while the partition was this shard's.
    private(set) var end: RecordPosition?
    /// The offset of the next record unless somebody else writes one; nil if unknown.
    private var next: Int64?
    /// When to reread the changelog, because somebody else has written there: perhaps a former owner's records in
    /// flight. Until then the changelog is not known beyond that.
    private(set) var rereadDue = Instant.never
    private var lastReread = Instant.past
    private var mayReread = true
    /// The changelog has lost its last records, as by an unclean election: an offset went back, or it ends before
    /// what was known of it. Until it was read from its beginning, and what it lacked is written again.
    private(set) var isCut = false

    /// Called for each record of this shard, in order. An offset that is skipped is somebody else's record, or the
    /// marker of a transaction. True if the changelog turns out to have lost records.
    mutating func answered(at offset: Int64, isTransactional: Bool, now: Instant) -> Bool {
        defer { next = offset < 0 ? nil : offset + 1 }
        guard let next, offset >= 0, mayReread, offset < next || offset > next && !isTransactional else {
            return false
        }
        if PlantedFault.isPlanted(.lostCountsUnnoticed), offset < next { return false }
        rereadDue = min(rereadDue, max(now, lastReread + Self.rereadsEvery))
        guard offset < next, !isCut else { return false }
        cut()
        return true
    }

    mutating func stored(_ record: RecordPosition) {
        if record.offset > lastStored?.offset ?? -1 { lastStored = record }
    }

    /// The changelog is known up to this record of this shard: the partition was the shard's all the time.
    mutating func know(_ stored: RecordPosition?) {
        guard rereadDue == .never, let stored, stored.offset > end?.offset ?? -1 else { return }
        end = stored
    }

    /// The changelog was read: `last` is its last record, and `offset` is that of the next one. True if it turns out to
    /// end before a record that this shard has stored.
    mutating func read(to last: RecordPosition?, next offset: Int64?, now: Instant) -> Bool {
        end = last
        guard let offset else { return false }
        let isShorter = offset < next ?? 0
        (next, rereadDue, lastReread) = (offset, .never, now)
        guard isShorter, mayReread, !isCut, !PlantedFault.isPlanted(.lostCountsUnnoticed) else { return false }
        cut()
        rereadDue = now
        return true
    }

    /// The changelog has been read, and has what was written again.
    mutating func completed() { if rereadDue == .never { isCut = false } }

    /// The changelog must be read from its beginning: it was cut, or perhaps recreated.
    mutating func cut() {
        forget()
        isCut = true
    }

    /// What was written is not known to be there.
    mutating func forget() { (lastStored, end) = (nil, nil) }

    mutating func endRereads() { (mayReread, rereadDue) = (false, .never) }
}
