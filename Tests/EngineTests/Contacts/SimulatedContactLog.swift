/// A partition of a simulated topic of contacts, as its brokers have it.
struct SimulatedContactLog {
    struct Entry {
        let offset: Int64
        let timestamp: Int64
        /// Nil for a record that is not a contact.
        let contact: Int?
        /// The number of the write, which is also the contact's name. Nil for a deletion.
        let write: Int
        let isDeletion: Bool
        /// In the open transaction.
        var isOpen = false
        /// When the cleaner first kept this deletion.
        var cleaned: Int64?
    }

    /// Brokers drop a deletion a day after they have first compacted what precedes it.
    private static let day = Int64(24 * 3600 * 1000)

    private(set) var entries: [Entry] = []
    /// Before this offset lies everything that made the cleaner remove something.
    private var cleanedEnd: Int64 = 0
    private(set) var end: Int64 = 0
    /// Where the open transaction begins.
    private(set) var open: Int64?

    /// Readers of committed records get no further.
    var stableEnd: Int64 { open ?? end }

    var stable: ArraySlice<Entry> { entries.prefix { $0.offset < stableEnd } }

    /// What the stable part of the log says of each contact.
    var contacts: [Int: Entry] {
        var contacts: [Int: Entry] = [:]
        for entry in stable { if let contact = entry.contact { contacts[contact] = entry } }
        return contacts
    }

    mutating func append(_ contact: Int?, write: Int, isDeletion: Bool, at time: Int64, inTransaction: Bool = false) {
        if inTransaction, open == nil { open = end }
        entries.append(
            Entry(
                offset: end, timestamp: time, contact: contact, write: write, isDeletion: isDeletion,
                isOpen: inTransaction))
        end += 1
    }

    /// Ends the open transaction with its marker, and returns the entries that are now committed.
    mutating func endTransaction(commits: Bool) -> [Entry] {
        guard open != nil else { return [] }
        let ended = entries.filter(\.isOpen)
        if !commits { entries.removeAll(where: \.isOpen) }
        for index in entries.indices { entries[index].isOpen = false }
        open = nil
        end += 1
        return commits ? ended : []
    }

    /// Offsets that no record has any more.
    mutating func leap(_ count: Int64) { end += count }

    /// As a log cleaner does below the given offset, never at the last record.
    mutating func compact(below limit: Int64, now: Int64) {
        let limit = min(limit, stableEnd, entries.last?.offset ?? 0)
        var last: [Int: Int64] = [:]
        for entry in entries where entry.offset < limit {
            if let contact = entry.contact { last[contact] = entry.offset }
        }
        entries = entries.compactMap { entry in
            guard entry.offset < limit, let contact = entry.contact, let latest = last[contact] else { return entry }
            guard latest == entry.offset else {
                cleanedEnd = max(cleanedEnd, latest + 1)
                return nil
            }
            guard entry.isDeletion else { return entry }
            if let cleaned = entry.cleaned, now - cleaned >= Self.day {
                cleanedEnd = max(cleanedEnd, entry.offset + 1)
                return nil
            }
            var kept = entry
            kept.cleaned = entry.cleaned ?? now
            return kept
        }
    }

    /// Loses everything from this offset on, as in an unclean election. What has already made the cleaner remove
    /// something is not lost: the new leader would have other earlier records, which no follower can know.
    mutating func cut(at offset: Int64) {
        let offset = max(offset, cleanedEnd)
        entries.removeAll { $0.offset >= offset }
        end = min(end, offset)
        if let open, open >= end || !entries.contains(where: \.isOpen) { self.open = nil }
    }
}
