/// Recorded outputs by the place of their input, in a temporary SQLite file that goes with the index: memory does not
/// grow with them. For one thread at a time.
package struct OutputIndex: ~Copyable {
    /// The position of an input.
    package struct Place: Hashable, Sendable {
        package let topic: String
        package let partition: Int32
        package let offset: Int64

        package init(topic: String, partition: Int32, offset: Int64) {
            self.topic = topic
            self.partition = partition
            self.offset = offset
        }
    }

    private let insertOutput: Statement
    private let insertPlace: Statement
    private let comparePlace: Statement
    private let replacePlace: Statement
    private let takeOutput: Statement
    private let database: Database
    /// The file has positions in this array instead of names: topics are few.
    package private(set) var topics: [String] = []
    package private(set) var count: Int64 = 0

    /// Another output for the same input replaces the first; false if they differ.
    @discardableResult
    package mutating func put(_ bytes: [UInt8], at place: Place) throws(StoreError) -> Bool {
        count += 1
        try insertOutput.bind(2, bytes.span.bytes)
        try insertOutput.run(count)
        let number = topics.firstIndex(of: place.topic) ?? topics.count
        if number == topics.count { topics.append(place.topic) }
        let (topic, partition) = (Int64(number), Int64(place.partition))
        try insertPlace.run(topic, partition, place.offset, count)
        guard database.changes == 0 else { return true }
        for (index, value) in [topic, partition, place.offset, count].enumerated() {
            try comparePlace.bind(Int32(index + 1), value)
        }
        let isSame = try comparePlace.step() && comparePlace.integer(0) == 1
        comparePlace.reset()
        try replacePlace.run(topic, partition, place.offset, count)
        return isSame
    }

    /// Returns the output at this place, and marks it as taken.
    package mutating func take(_ place: Place) throws(StoreError) -> [UInt8]? {
        guard let number = topics.firstIndex(of: place.topic) else { return nil }
        try takeOutput.bind(1, Int64(number))
        try takeOutput.bind(2, Int64(place.partition))
        try takeOutput.bind(3, place.offset)
        guard try takeOutput.step() else { return nil }
        defer { takeOutput.reset() }
        return Array(takeOutput.bytes(0))
    }

    /// The outputs not taken, by topic, partition and offset. Nothing may be put or taken meanwhile.
    package func left() throws(StoreError) -> Left {
        Left(
            statement: try database.prepare(
                """
                SELECT topic, partition, offset, (SELECT bytes FROM output WHERE id=place.output)
                FROM place WHERE taken=0 ORDER BY topic, partition, offset
                """), topics: topics)
    }

    package struct Left: ~Copyable {
        fileprivate let statement: Statement
        fileprivate let topics: [String]

        package mutating func next() throws(StoreError) -> (place: Place, bytes: [UInt8])? {
            guard try statement.step() else { return nil }
            let place = Place(
                topic: topics[Int(statement.integer(0))], partition: Int32(truncatingIfNeeded: statement.integer(1)),
                offset: statement.integer(2))
            return (place, Array(statement.bytes(3)))
        }
    }
}

extension OutputIndex {
    package init() throws(StoreError) {
        // An empty path is a temporary file, which SQLite unlinks.
        let database = try Database.open(path: "")
        try database.execute(
            """
            PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-32768; PRAGMA temp_store=FILE;
            CREATE TABLE output(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
            CREATE TABLE place(
                topic INTEGER NOT NULL, partition INTEGER NOT NULL, offset INTEGER NOT NULL, output INTEGER NOT NULL,
                taken INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(topic, partition, offset)) WITHOUT ROWID;
            BEGIN
            """)
        self.init(
            insertOutput: try database.prepare("INSERT INTO output(id, bytes) VALUES(?1, ?2)"),
            insertPlace: try database.prepare(
                "INSERT OR IGNORE INTO place(topic, partition, offset, output) VALUES(?1, ?2, ?3, ?4)"),
            comparePlace: try database.prepare(
                """
                SELECT output.bytes=new.bytes FROM place JOIN output ON output.id=place.output JOIN output AS new
                ON new.id=?4 WHERE topic=?1 AND partition=?2 AND offset=?3
                """),
            replacePlace: try database.prepare(
                "UPDATE place SET output=?4 WHERE topic=?1 AND partition=?2 AND offset=?3"),
            takeOutput: try database.prepare(
                """
                UPDATE place SET taken=1 WHERE topic=? AND partition=? AND offset=?
                RETURNING (SELECT bytes FROM output WHERE id=place.output)
                """), database: database)
    }
}
