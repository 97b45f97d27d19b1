import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillStores

@Suite("Contacts as a copy of a topic's partitions")
struct CoPartitionedContactsTests {
    private static let now: Int64 = 1_700_000_000_000
    private static let hour: Int64 = 3_600_000

    private let listed: ContactScene
    private var folder: TemporaryFolder { listed.folder }
    private var state: StateFile { listed.state }

    init() throws { listed = try ContactScene() }

    /// With three partitions, each with a contact of its own and one of the shared directory.
    private func filled() throws -> TopicContacts {
        var contacts = try contacts()
        try expect(contacts.discardStale(partitions: 3, now: Self.now), is: [0, 1, 2])
        for partition in Int32(0)..<3 {
            _ = try contacts.apply(
                [
                    (Self.own(partition), Self.name("Own \(partition)")),
                    (Self.shared, Self.name("Shared \(partition)")),
                ],
                of: partition, now: Self.now)
        }
        return contacts
    }

    private func contacts(isCoPartitioned: Bool = true) throws -> TopicContacts {
        try TopicContacts(state, topic: "contacts", cluster: "c", isCoPartitioned: isCoPartitioned)
    }

    private static let shared = #"{"id":"all"}"#
    private static func own(_ partition: Int32) -> String { #"{"owner":"o\#(partition)","id":"c"}"# }
    private static func name(_ name: String) -> String { #"{"name":"\#(name)"}"# }

    @Test(
        "Only contacts of served partitions are found; those of others stay stored and listed"
    )
    func serving() throws {
        let contacts = try filled()
        let time = ManualTime()
        let book = try StoredContacts(state, time: .manual(time))
        func found() throws -> [String?] {
            time.advance(by: .seconds(1))
            return try [book.name("c", for: "o0"), book.name("c", for: "o1"), book.name("all", for: "*")]
        }
        try expect(found(), is: [nil, nil, nil])
        try contacts.serve(only: [1, 2])
        try expect(found(), is: [nil, "Own 1", "Shared 1"])
        try expect(listed.list(), is: ["*/all=Shared 0", "o0/c=Own 0", "o1/c=Own 1", "o2/c=Own 2"])
        try expect(listed.list("o0"), is: ["o0/c=Own 0"])
        try contacts.serve(only: [0])
        try expect(found(), is: ["Own 0", nil, "Shared 0"])
        try expect(contacts.positions().count, is: 3)
    }

    @Test("A deletion in one partition leaves the contacts of others")
    func deleting() throws {
        let contacts = try filled()
        try contacts.serve(only: [0, 1, 2])
        _ = try contacts.apply([(Self.shared, nil), (Self.own(1), nil)], of: 0, now: Self.now)
        try expect(listed.list(), is: ["*/all=Shared 1", "o0/c=Own 0", "o1/c=Own 1", "o2/c=Own 2"])
        for partition in Int32(1)..<3 { _ = try contacts.apply([(Self.shared, nil)], of: partition, now: Self.now) }
        try expect(listed.list(), is: ["o0/c=Own 0", "o1/c=Own 1", "o2/c=Own 2"])
    }

    @Test("Only a partition that was away for too long is forgotten")
    func away() throws {
        var contacts = try filled()
        try contacts.serve(only: [0, 1, 2])
        try contacts.see([0, 2], now: Self.now + Self.hour)
        try expect(contacts.discardStale(partitions: 3, now: Self.now + 12 * Self.hour), is: [1])
        _ = try contacts.complete([1], now: Self.now)
        try expect(listed.list(), is: ["*/all=Shared 0", "o0/c=Own 0", "o2/c=Own 2"])
        try expect(Set(contacts.positions().keys), is: [0, 2])
        try expect(contacts.discardStale(partitions: 3, now: Self.now + 12 * Self.hour), is: [])
    }

    @Test("A partition that the topic has lost is forgotten")
    func fewer() throws {
        var contacts = try filled()
        try expect(contacts.discardStale(partitions: 2, now: Self.now), is: [2])
        try expect(Set(contacts.positions().keys), is: [0, 1])
    }

    @Test("Starting over with one partition leaves the contacts of others")
    func startingOver() throws {
        var contacts = try filled()
        try contacts.serve(only: [0, 1, 2])
        try contacts.startOver([1], now: Self.now)
        _ = try contacts.complete([1], now: Self.now)
        try expect(listed.list(), is: ["*/all=Shared 0", "o0/c=Own 0", "o2/c=Own 2"])
        try expect(Set(contacts.positions().keys), is: [0, 2])
    }

    @Test("Switching between reading a topic whole and by partitions starts over")
    func otherWay() throws {
        _ = try filled()
        var whole = try contacts(isCoPartitioned: false)
        try expect(whole.discardStale(partitions: 3, now: Self.now), is: [0, 1, 2])
        #expect(try whole.positions().isEmpty)
        _ = try whole.apply([(Self.own(0), Self.name("Zoë"))], of: 2, now: Self.now)
        try expect(listed.list(), is: ["o0/c=Zoë"])
        var parts = try contacts()
        try expect(parts.discardStale(partitions: 3, now: Self.now), is: [0, 1, 2])
        try expect(listed.list(), is: [])
    }

    @Test("One person's contacts are deleted in every partition")
    func personalData() throws {
        let contacts = try filled()
        try expect("*".withBytes { (owner) throws(StoreError) in try listed.store.delete(owner: owner) }, is: 3)
        try contacts.serve(only: [0, 1, 2])
        try expect(listed.list(), is: ["o0/c=Own 0", "o1/c=Own 1", "o2/c=Own 2"])
    }

    @Test("Migrating a file without partitions keeps its contacts and its position in their topic")
    func migration() throws {
        let path = "\(folder.path)/old.sqlite"
        do {
            let database = try Database.open(path: path)
            try Schema.prepare(database, steps: Array(Schema.steps.prefix(2)))
            try database.execute(
                """
                INSERT INTO contact VALUES(CAST('anna' AS BLOB), CAST('c1' AS BLOB), CAST('Zoë' AS BLOB));
                INSERT INTO contact_source VALUES(1, 'c', 'contacts', \(Self.now));
                INSERT INTO contact_position VALUES(0, 7, 8)
                """)
        }
        let old = try StateFile(path: path, access: .shared)
        var contacts = try TopicContacts(old, topic: "contacts", cluster: "c")
        try expect(contacts.discardStale(partitions: 1, now: Self.now + Self.hour), is: [])
        try expect(contacts.positions(), is: [0: RecordPosition(partition: 0, offset: 7, timestamp: 8)])
        try expect(StoredContacts(old).name("c1", for: "anna"), is: "Zoë")
        try expect(contacts.discardStale(partitions: 1, now: Self.now + 12 * Self.hour), is: [0])
    }
}
