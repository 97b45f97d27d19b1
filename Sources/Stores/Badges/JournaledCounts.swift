/// What the journal of a file says: the newest count of everyone in it.
struct JournaledCounts: ~Copyable {
    private(set) var counts: [(key: PairKey, count: Int32)] = []
    private var index = KeyIndex()

    init(of database: borrowing Database) throws(StoreError) {
        let newestFirst = try database.prepare("SELECT counts FROM badge_journal ORDER BY id DESC")
        while try newestFirst.step() {
            let isSound = CountJournal.decode(newestFirst.bytes(0)) { insert($0, $1, $2) }
            guard isSound else { throw .damaged(path: database.path, what: "journal of badge counts") }
        }
    }

    private mutating func insert(_ recipient: RawSpan, _ app: RawSpan, _ count: Int32) {
        let hash = KeyIndex.hash(recipient, app)
        guard find(hash, recipient, app) == nil else { return }
        index.insert(hash, counts.count)
        counts.append((PairKey(recipient, app), count))
    }

    func contains(_ recipient: RawSpan, _ app: RawSpan) -> Bool {
        find(KeyIndex.hash(recipient, app), recipient, app) != nil
    }

    private func find(_ hash: UInt32, _ recipient: RawSpan, _ app: RawSpan) -> Int? {
        index.find(hash) { counts[$0].key.equals(recipient, app) }
    }
}
