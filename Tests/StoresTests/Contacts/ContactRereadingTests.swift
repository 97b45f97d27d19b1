import PushmillTestSupport
import Testing

@testable import PushmillStores

@Suite("Reading a topic of contacts again")
struct ContactRereadingTests {
    private static let now: Int64 = 1_700_000_000_000
    private static let hour: Int64 = 3_600_000

    private let listed: ContactScene

    init() throws { listed = try ContactScene() }

    private func contacts() throws -> TopicContacts {
        try TopicContacts(listed.state, topic: "contacts", cluster: "c")
    }

    private static func key(_ id: String) -> String { #"{"owner":"anna","id":"\#(id)"}"# }
    private static func name(_ name: String) -> String { #"{"name":"\#(name)"}"# }

    private static let log: [(key: String?, value: String?)] = [
        (key("gone"), name("Former Friend")), (key("new"), name("Old Name")), (key("same"), name("Same")),
        (key("gone"), nil), (key("new"), name("New Name")),
    ]

    /// Contacts that were read from the log, and one that it does not have.
    private func filled() throws -> TopicContacts {
        var contacts = try contacts()
        _ = try contacts.discardStale(partitions: 1, now: Self.now)
        _ = try contacts.apply(Self.log + [(Self.key("lost"), Self.name("Lost"))], now: Self.now)
        return contacts
    }

    private func count(_ table: String) throws -> Int64? {
        try Database.open(path: listed.state.path).integer("SELECT count(*) FROM \(table)")
    }

    @Test("Deleted contacts and earlier names do not come back while the topic is read again, one record at a time")
    func formerNames() throws {
        let known = ["anna/lost=Lost", "anna/new=New Name", "anna/same=Same"]
        var contacts = try filled()
        try contacts.startOver([0], now: Self.now)
        for (index, record) in Self.log.enumerated() {
            let revision = try listed.store.database.integer("SELECT revision FROM contact_revision")
            _ = try contacts.apply([record], at: Int64(index), now: Self.now)
            try expect(listed.list(), is: known)
            // Nothing visible has changed: caches stay.
            try expect(listed.store.database.integer("SELECT revision FROM contact_revision"), is: revision)
        }
        try expect(contacts.complete([0], now: Self.now), is: true)
        try expect(listed.list(), is: ["anna/new=New Name", "anna/same=Same"])
        try expect(contacts.discardStale(partitions: 1, now: Self.now + Self.hour), is: [])
        try expect([count("contact_new"), count("contact_reread")], is: [0, 0])
        _ = try contacts.apply([(Self.key("same"), Self.name("Renamed"))], at: 5, now: Self.now)
        try expect(listed.list(), is: ["anna/new=New Name", "anna/same=Renamed"])
    }

    @Test("An interrupted rereading goes on where it was, also while it replaces contacts", arguments: [0, 1, 2, 3])
    func interrupted(steps: Int) throws {
        do {
            var contacts = try filled()
            try contacts.startOver([0], now: Self.now)
            _ = try contacts.apply(Array(Self.log[..<3]), at: 0, now: Self.now)
        }
        var contacts = try contacts()
        try expect(contacts.discardStale(partitions: 1, now: Self.now + Self.hour), is: [])
        try expect(contacts.positions()[0]?.offset, is: 2)
        _ = try contacts.apply(Array(Self.log[3...]), at: 3, now: Self.now)
        var left = steps
        let isDone = try contacts.complete([0], now: Self.now) {
            left -= 1
            return left >= 0
        }
        expect(isDone, is: false)
        var again = try self.contacts()
        try expect(again.discardStale(partitions: 1, now: Self.now + Self.hour), is: [])
        try expect(again.complete([0], now: Self.now), is: true)
        try expect(listed.list(), is: ["anna/new=New Name", "anna/same=Same"])
    }

    @Test("A rereading that was interrupted for too long begins again", arguments: [12, -1])
    func tooLong(hours: Int64) throws {
        var contacts = try filled()
        try contacts.startOver([0], now: Self.now)
        _ = try contacts.apply(Array(Self.log[..<1]), at: 0, now: Self.now)
        try expect(contacts.discardStale(partitions: 1, now: Self.now + hours * Self.hour), is: [0])
        #expect(try contacts.positions().isEmpty)
        try expect(count("contact_new"), is: 0)
        _ = try contacts.apply(Array(Self.log[1...]), at: 1, now: Self.now)
        try expect(contacts.complete([0], now: Self.now), is: true)
        try expect(listed.list(), is: ["anna/new=New Name", "anna/same=Same"])
    }

    @Test(
        "A file that the previous release has used meanwhile is read as that release left it",
        arguments: [
            // It has begun to read the topic again.
            ("DELETE FROM contact_position; INSERT INTO contact_unseen SELECT partition, owner, id FROM contact", true),
            // It has read the topic again.
            ("UPDATE contact_position SET offset=9, seen=\(now)", false),
        ])
    func previousRelease(change: String, isStale: Bool) throws {
        do {
            var contacts = try filled()
            try contacts.startOver([0], now: Self.now)
            _ = try contacts.apply(Array(Self.log[..<1]), at: 0, now: Self.now)
        }
        let unseen = try listed.store.database.integer("SELECT seen FROM contact_position")
        expect(unseen, is: 0)
        try listed.store.database.execute(change)
        var contacts = try contacts()
        try expect(contacts.discardStale(partitions: 1, now: Self.now), is: (isStale ? [0] : []))
        try expect(contacts.positions()[0]?.offset, is: (isStale ? nil : 9))
        expect(contacts.rereading, is: (isStale ? [-1] : []))
        try expect([count("contact_new"), count("contact_unseen")], is: [0, 0])
    }

    @Test("Many contacts are replaced in several transactions")
    func many() throws {
        var contacts = try contacts()
        _ = try contacts.discardStale(partitions: 1, now: Self.now)
        func records(_ numbers: Range<Int>, _ name: String) -> [(key: String?, value: String?)] {
            numbers.map { (Self.key("\($0)"), Self.name(name)) }
        }
        _ = try contacts.apply(records(0..<25_000, "Old"), now: Self.now)
        try contacts.startOver([0], now: Self.now)
        _ = try contacts.apply(records(12_000..<37_000, "New"), now: Self.now)
        let before = try listed.store.database.integer("SELECT revision FROM contact_revision") ?? 0
        try expect(contacts.complete([0], now: Self.now), is: true)
        let after = try listed.store.database.integer("SELECT revision FROM contact_revision") ?? 0
        // Three pages of those that are gone, and three of the others.
        expect(after - before, is: 6)
        let query = try listed.store.database.prepare(
            "SELECT count(*), min(name), max(CAST(CAST(id AS TEXT) AS INTEGER)), max(name) FROM contact")
        #expect(try query.step() && query.integer(0) == 25_000 && query.integer(2) == 36_999)
        #expect(query.text(1) == "New" && query.text(3) == "New")
    }

    @Test("The last marks are kept, older ones at distances that double, and that of the first record")
    func marks() throws {
        expect(TopicContacts.surplus([]), is: [])
        expect(TopicContacts.surplus(Array(0..<256)), is: [])
        expect(TopicContacts.surplus(Array(0..<257)), is: Array(2..<129))
        let contacts = try filled()
        for offset in 16..<1000 as Range<Int64> {
            _ = try contacts.apply([(Self.key("same"), Self.name("Same"))], at: offset, now: Self.now)
        }
        let marks = try #require(contacts.marks()[0]?.map(\.offset))
        #expect(marks.first == 10 && marks.count <= 256 && marks.suffix(128) == Array(872..<1000)[...])
        for (mark, next) in zip(marks.dropFirst(), marks.dropFirst(2)) { #expect(next - mark <= 1000 - mark) }
        var again = try self.contacts()
        try again.startOver([0], now: Self.now)
        #expect(try again.marks().isEmpty)
    }
}
