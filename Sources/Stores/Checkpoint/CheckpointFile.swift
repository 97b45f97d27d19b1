/// The checkpoint of an instance that keeps its counts itself: badge counts and positions in one SQLite transaction.
/// Used by one thread.
///
/// A checkpoint appends its counts to a journal as one row, which costs a tenth of as many updates. From time to time
/// the journal is folded into the table, whose rows are what lanes load.
package struct CheckpointFile: ~Copyable {
    private static let journalLimit = 8 << 20

    package let progress = JournalProgress()
    // Keeps the file to this process for as long as it is written.
    private let state: StateFile
    let database: Database
    private let appendCounts: Statement
    private let putPosition: Statement
    private var encoded: [UInt8] = []
    private var journalBytes = 0
    private var lastCheckpoint: UInt32 = 0

    /// Folds what an earlier process has left in the journal.
    package init(_ state: StateFile) throws(StoreError) {
        let database = try state.connect()
        try BadgeTable.foldJournal(of: database)
        let appendCounts = try database.prepare("INSERT INTO badge_journal(counts) VALUES(?)")
        let putPosition = try database.prepare(
            "INSERT INTO position VALUES(?, ?, ?, ?) "
                + "ON CONFLICT DO UPDATE SET next=excluded.next, metadata=excluded.metadata")
        self.state = state
        self.database = database
        self.appendCounts = appendCounts
        self.putPosition = putPosition
    }

    /// On the disk when it returns the checkpoint's number; not there at all if it throws.
    package mutating func save(_ batch: borrowing CheckpointBatch) throws(StoreError) -> UInt32 {
        if progress.takeWish() || journalBytes > Self.journalLimit { try fold() }
        CountJournal.encode(batch.counts, into: &encoded)
        try database.transaction { () throws(StoreError) in
            if !encoded.isEmpty {
                try appendCounts.bind(1, encoded.span.bytes)
                try appendCounts.run()
            }
            for position in batch.positions { try put(position) }
        }
        journalBytes += encoded.count
        lastCheckpoint &+= 1
        return lastCheckpoint
    }

    private func put(_ position: PartitionPosition) throws(StoreError) {
        try putPosition.bind(1, position.topic)
        try putPosition.bind(2, Int64(position.partition))
        try putPosition.bind(3, position.next)
        try putPosition.bind(4, position.metadata)
        try putPosition.run()
    }

    /// Moves the journal into the table, so that accounts may be forgotten.
    package mutating func fold() throws(StoreError) {
        try BadgeTable.foldJournal(of: database)
        journalBytes = 0
        progress.foldedThrough = lastCheckpoint
    }

    package func position(of topic: String, _ partition: Int32) throws(StoreError) -> PartitionPosition? {
        let query = try database.prepare("SELECT next, metadata FROM position WHERE topic=? AND partition=?")
        try query.bind(1, topic)
        try query.bind(2, Int64(partition))
        guard try query.step() else { return nil }
        return PartitionPosition(
            topic: topic, partition: partition, next: query.integer(0), metadata: query.text(1))
    }
}
