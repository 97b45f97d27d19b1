/// The counts of a state file of the format before this one: an instance's own, in a table with a journal, or the copy of
/// a changelog.
package struct FormerCounts: ~Copyable {
    private let database: Database

    package init(_ state: StateFile) throws(StoreError) { database = try state.connect() }

    /// Gives each count, an older one of an account before a newer one; nothing once they were carried over.
    package func forEach(
        _ body: (_ recipient: RawSpan, _ app: RawSpan, _ count: Int32) -> Void
    ) throws(StoreError) {
        if try isAny("badge_carried") { return }
        try database.snapshot { () throws(StoreError) in
            let rows = try database.prepare("SELECT recipient, app, count FROM badge")
            while try rows.step() {
                body(rows.bytes(0).bytes, rows.bytes(1).bytes, Int32(clamping: max(0, rows.integer(2))))
            }
            let journal = try database.prepare("SELECT counts FROM badge_journal ORDER BY id")
            while try journal.step() {
                guard Self.decode(journal.bytes(0), body) else {
                    throw .damaged(path: database.path, what: "journal of badge counts")
                }
            }
        }
    }

    /// They are somewhere else now.
    package func carried() throws(StoreError) { try database.execute("INSERT INTO badge_carried VALUES(1)") }

    /// False where there is no copy of a changelog.
    package func discardCopy() throws(StoreError) -> Bool {
        guard try isAny("changelog_source") else { return false }
        try database.transaction { () throws(StoreError) in
            try database.execute(
                "DELETE FROM partition_badge; DELETE FROM changelog_position; DELETE FROM changelog_source")
        }
        return true
    }

    private func isAny(_ table: String) throws(StoreError) -> Bool {
        try database.integer("SELECT 1 FROM \(table)") != nil
    }

    /// Recipient, app (each with its length) and count, as LEB128 where they are numbers. False where the bytes are others.
    private static func decode(
        _ bytes: UnsafeRawBufferPointer, _ body: (_ recipient: RawSpan, _ app: RawSpan, _ count: Int32) -> Void
    ) -> Bool {
        let whole = bytes.bytes
        var at = 0
        while at < bytes.count {
            guard let recipient = text(bytes, &at), let app = text(bytes, &at), let number = number(bytes, &at),
                let count = Int32(exactly: number)
            else { return false }
            body(whole.extracting(recipient), whole.extracting(app), count)
        }
        return true
    }

    private static func text(_ bytes: UnsafeRawBufferPointer, _ at: inout Int) -> Range<Int>? {
        guard let count = number(bytes, &at), Int(count) <= bytes.count - at else { return nil }
        defer { at += Int(count) }
        return at..<at + Int(count)
    }

    private static func number(_ bytes: UnsafeRawBufferPointer, _ at: inout Int) -> UInt32? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 28, by: 7) {
            guard at < bytes.count else { return nil }
            let byte = bytes[at]
            at += 1
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return UInt32(exactly: number) }
        }
        return nil
    }
}
