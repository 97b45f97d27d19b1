import PushmillPayload

/// Reading partitions again from their beginning. Their earlier records say what was true long ago: what they say is
/// collected beside the present contacts, which are found meanwhile, and replaces them at the end.
extension TopicContacts {
    /// The most contacts that are compared at once, and the most bytes of those that are changed in one transaction.
    private static let (pageSize, pageBytes) = (10_000, 16 << 20)

    /// These partitions are to be read from their beginning; if contacts have no partition, all are. Existing contacts
    /// stay until `complete`.
    package mutating func startOver(_ partitions: Set<Int32>, now: Int64) throws(StoreError) {
        let places = places(of: partitions)
        rereading.subtract(places)
        // If this is interrupted, partitions that were never seen and are not being read again are stale.
        let unsee = try store.database.prepare("UPDATE contact_position SET seen=0 WHERE ? IN (partition, -1)")
        let end = try store.database.prepare("DELETE FROM contact_reread WHERE partition=?")
        try store.database.transaction { () throws(StoreError) in
            for place in places {
                try unsee.run(Int64(place))
                try end.run(Int64(place))
            }
        }
        try clear(places)
        let begin = try store.database.prepare("INSERT INTO contact_reread VALUES(?, ?)")
        let forget = try store.database.prepare("DELETE FROM contact_position WHERE ? IN (partition, -1)")
        let unmark = try store.database.prepare("DELETE FROM contact_mark WHERE ? IN (partition, -1)")
        // A place that no record has been read at yet.
        let put = try store.database.prepare("INSERT INTO contact_position VALUES(?, -1, -1, 0)")
        try store.database.transaction { () throws(StoreError) in
            for place in places {
                try begin.run(Int64(place), now)
                guard !PlantedContactFault.isPlanted(.positionKept) else { continue }
                try forget.run(Int64(place))
                try unmark.run(Int64(place))
            }
            guard !PlantedContactFault.isPlanted(.positionKept) else { return }
            for partition in partitions { try put.run(Int64(partition)) }
        }
        rereading.formUnion(places)
    }

    /// These partitions have been read to their ends; if contacts have no partition, all have. What has been read since
    /// `startOver` replaces their contacts, some in each transaction. False if `goesOn` ends that: it is made good when
    /// this is called again, also by the next process.
    package mutating func complete(
        _ partitions: some Collection<Int32>, now: Int64, while goesOn: () -> Bool = { true }
    ) throws(StoreError) -> Bool {
        let due = rereading.intersection(places(of: partitions))
        for place in due {
            guard try removeVanished(of: place, while: goesOn), try putChanged(of: place, while: goesOn) else {
                return false
            }
            let end = try store.database.prepare("DELETE FROM contact_reread WHERE partition=?")
            let forget = try store.database.prepare(
                "DELETE FROM contact_position WHERE offset<0 AND ? IN (partition, -1)")
            let see = try store.database.prepare("UPDATE contact_position SET seen=?2 WHERE ?1 IN (partition, -1)")
            try store.database.transaction { () throws(StoreError) in
                try checkSource()
                try end.run(Int64(place))
                try forget.run(Int64(place))
                try see.run(Int64(place), now)
            }
            rereading.remove(place)
        }
        if !due.isEmpty { try clear(due) }
        return true
    }

    private func removeVanished(of place: Int32, while goesOn: () -> Bool) throws(StoreError) -> Bool {
        let query = try store.database.prepare(
            """
            SELECT owner, id, x'', NOT EXISTS(
                SELECT 1 FROM contact_new AS new WHERE new.partition=?1 AND new.owner=old.owner AND new.id=old.id)
            FROM contact AS old WHERE partition=?1 AND (owner, id)>(?2, ?3) ORDER BY owner, id LIMIT \(Self.pageSize)
            """)
        return try change(query, place, while: goesOn) { (owner, id, _) throws(StoreError) in
            try store.remove(owner: owner, id: id, in: place)
        }
    }

    private func putChanged(of place: Int32, while goesOn: () -> Bool) throws(StoreError) -> Bool {
        let query = try store.database.prepare(
            """
            SELECT owner, id, name, NOT EXISTS(
                SELECT 1 FROM contact AS old
                WHERE old.owner=new.owner AND old.id=new.id AND old.partition=?1 AND old.name=new.name)
            FROM contact_new AS new WHERE partition=?1 AND (owner, id)>(?2, ?3)
            ORDER BY owner, id LIMIT \(Self.pageSize)
            """)
        return try change(query, place, while: goesOn) { (owner, id, name) throws(StoreError) in
            try store.put(owner: owner, id: id, name: name, in: place)
        }
    }

    /// The query gives a page of contacts after a key. Those whose last column is true are changed, in a transaction
    /// for each page. False if `goesOn` ended it.
    private func change(
        _ query: borrowing Statement, _ place: Int32, while goesOn: () -> Bool,
        _ body: (_ owner: RawSpan, _ id: RawSpan, _ name: RawSpan) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        var (owner, id): ([UInt8], [UInt8]) = ([], [])
        while goesOn() {
            try query.bind(place, owner.span.bytes, id.span.bytes)
            var due: [(owner: [UInt8], id: [UInt8], name: [UInt8])] = []
            var (isLast, byteCount) = (true, 0)
            while byteCount < Self.pageBytes, try query.step() {
                isLast = false
                (owner, id) = (Array(query.bytes(0)), Array(query.bytes(1)))
                guard query.integer(3) != 0 else { continue }
                due.append((owner, id, Array(query.bytes(2))))
                byteCount += owner.count + id.count + query.bytes(2).count
            }
            query.reset()
            if isLast { return true }
            guard !due.isEmpty else { continue }
            try store.change { () throws(StoreError) in
                try checkSource()
                for contact in due {
                    try body(contact.owner.span.bytes, contact.id.span.bytes, contact.name.span.bytes)
                }
            }
        }
        return false
    }

    /// What was read there has replaced the contacts, or is to be read again.
    private func clear(_ places: Set<Int32>) throws(StoreError) {
        // Without a condition, SQLite frees whole pages.
        if rereading.isEmpty { return try store.database.execute("DELETE FROM contact_new") }
        let clear = try store.database.prepare("DELETE FROM contact_new WHERE partition=?")
        for place in places { try clear.run(Int64(place)) }
    }

    /// Where contacts are still being read again. The previous release may have used the file since: it leaves
    /// `contact_unseen` if it has begun to read contacts again, and else has seen their partitions.
    static func resume(_ database: borrowing Database) throws(StoreError) -> Set<Int32> {
        try database.transaction { () throws(StoreError) in
            if try database.integer("SELECT 1 FROM contact_unseen") != nil {
                try database.execute(
                    """
                    INSERT INTO contact_position SELECT DISTINCT max(partition, 0), -1, -1, 0 FROM contact_unseen
                    WHERE true ON CONFLICT DO UPDATE SET seen=0;
                    DELETE FROM contact_unseen; DELETE FROM contact_reread
                    """)
            }
            try database.execute(
                """
                DELETE FROM contact_reread WHERE NOT EXISTS(
                    SELECT 1 FROM contact_position AS known
                    WHERE known.seen=0 AND contact_reread.partition IN (known.partition, -1))
                OR EXISTS(
                    SELECT 1 FROM contact_position AS known
                    WHERE known.seen>0 AND contact_reread.partition IN (known.partition, -1))
                """)
            let query = try database.prepare("SELECT partition FROM contact_reread")
            var places: Set<Int32> = []
            while try query.step() { places.insert(Int32(truncatingIfNeeded: query.integer(0))) }
            if places.isEmpty { try database.execute("DELETE FROM contact_new") }
            return places
        }
    }
}
