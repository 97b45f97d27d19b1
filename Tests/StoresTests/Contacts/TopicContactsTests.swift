import Glibc
import PushmillTestSupport
import Testing

@testable import PushmillStores

@Suite("Contacts as a copy of a topic")
struct TopicContactsTests {
    private static let now: Int64 = 1_700_000_000_000

    private let listed: ContactScene
    private var folder: TemporaryFolder { listed.folder }
    private var state: StateFile { listed.state }

    init() throws { listed = try ContactScene() }

    private func contacts(_ topic: String = "contacts", _ cluster: String = "c") throws -> TopicContacts {
        try TopicContacts(state, topic: topic, cluster: cluster)
    }

    private static let anna = #"{"owner":"anna","id":"c1"}"#
    private static let zoe = #"{"name":"Zoë"}"#

    @Test("Records set contacts, tombstones delete them, and each partition's last position is remembered")
    func applying() throws {
        var contacts = try contacts()
        try expect(contacts.discardStale(partitions: 2, now: Self.now), is: [0, 1])
        let first = try contacts.apply(
            [
                (Self.anna, Self.zoe), (#"{"id":"c9"}"#, #"{"name":"Public","more":[1]}"#),
                (#"{"id":"c2","owner":"anna"}"#, #"{"id":"other","owner":"other","name":"Two"}"#),
                (Self.anna, #"{"name":"Zoë Martin"}"#), (#"{"owner":"anna","id":"c2"}"#, nil),
            ], now: Self.now)
        expect(first, is: [])
        try expect(contacts.apply([(#"{"owner":"boris","id":"c1"}"#, Self.zoe)], of: 1, now: Self.now), is: [])
        try expect(listed.list(), is: ["*/c9=Public", "anna/c1=Zoë Martin", "boris/c1=Zoë"])
        var again = try self.contacts()
        try expect(again.discardStale(partitions: 2, now: Self.now), is: [])
        try expect(
            again.positions(),
            is: [
                0: RecordPosition(partition: 0, offset: 14, timestamp: 4),
                1: RecordPosition(partition: 1, offset: 10, timestamp: 0),
            ])
        try expect(listed.list().count, is: 3)
    }

    @Test(
        "A record that is not a contact is skipped, with the reason",
        arguments: [
            (nil, zoe, "no key"), ("", zoe, "not JSON: unexpected end at byte 0"), ("[]", zoe, "not a JSON object"),
            ("{}", zoe, "no id"), (#"{"id":1}"#, zoe, "the id is not a string"), (anna, "{}", "no name"),
            (#"{"owner":"","id":"c1"}"#, zoe, "the owner is empty"),
            (anna, #"{"name":null}"#, "no name"),
        ])
    func refused(_ key: String?, _ value: String, _ what: String) throws {
        var contacts = try contacts()
        _ = try contacts.discardStale(partitions: 1, now: Self.now)
        let position = RecordPosition(partition: 0, offset: 11, timestamp: 1)
        let refused = try contacts.apply([(Self.anna, Self.zoe), (key, value)], now: Self.now)
        expect(refused, is: [RefusedRecord(position: position, what: what)])
        try expect(listed.list(), is: ["anna/c1=Zoë"])
        try expect(contacts.positions(), is: [0: position])
    }

    @Test("An empty value deletes a contact like a missing one")
    func emptyValue() throws {
        var contacts = try contacts()
        _ = try contacts.discardStale(partitions: 1, now: Self.now)
        try expect(contacts.apply([(Self.anna, Self.zoe), (Self.anna, "")], now: Self.now), is: [])
        try expect(listed.list(), is: [])
    }

    @Test(
        "Contacts of another source, or that may have missed a deletion, are forgotten",
        arguments: [
            ("contacts", "c", 1, 0, true), ("contacts", "c", 1, 11 * 3_600_000, true),
            ("contacts", "c", 1, 12 * 3_600_000, false), ("contacts", "d", 1, 0, false), ("people", "c", 1, 0, false),
            ("contacts", "c", 0, 0, false),
        ])
    func resuming(_ topic: String, _ cluster: String, _ partitions: Int, _ later: Int64, _ isKept: Bool) throws {
        var contacts = try contacts()
        _ = try contacts.discardStale(partitions: 1, now: Self.now)
        _ = try contacts.apply([(Self.anna, Self.zoe)], now: Self.now)
        let later = Self.now + later
        var again = try self.contacts(topic, cluster)
        let stale = try again.discardStale(partitions: partitions, now: later)
        expect(stale, is: (isKept ? [] : Set(0..<Int32(partitions))))
        if topic == "contacts", cluster == "c", partitions > 0 {
            // The contacts stay until the topic has been read without naming them.
            try expect(listed.list(), is: ["anna/c1=Zoë"])
            _ = try again.complete([0], now: later)
        }
        try expect(self.contacts(topic, cluster).positions().count, is: (isKept ? 1 : 0))
        try expect(listed.list(), is: (isKept ? ["anna/c1=Zoë"] : []))
    }

    @Test("A copy that was last seen current less than twelve hours ago has missed nothing")
    func seeing() throws {
        var contacts = try contacts()
        _ = try contacts.discardStale(partitions: 1, now: Self.now)
        _ = try contacts.apply([(Self.anna, Self.zoe)], now: Self.now)
        try contacts.see([0], now: Self.now + 12 * 3_600_000)
        try expect(contacts.discardStale(partitions: 1, now: Self.now + 20 * 3_600_000), is: [])
        try expect(listed.list(), is: ["anna/c1=Zoë"])
    }

    @Test("A copy whose last look lies in the future may have missed a deletion")
    func clockAhead() throws {
        var contacts = try contacts()
        _ = try contacts.discardStale(partitions: 1, now: Self.now)
        _ = try contacts.apply([(Self.anna, Self.zoe)], now: Self.now)
        try contacts.see([0], now: Self.now + 48 * 3_600_000)
        try expect(contacts.discardStale(partitions: 1, now: Self.now + 24 * 3_600_000), is: [0])
        try expect(listed.list(), is: ["anna/c1=Zoë"])
    }

    @Test("A copy that has not reached the end may have missed deletions since it began")
    func unfinished() throws {
        var contacts = try contacts()
        _ = try contacts.discardStale(partitions: 1, now: Self.now)
        _ = try contacts.apply([(Self.anna, Self.zoe)], now: Self.now)
        _ = try contacts.apply([(Self.anna, Self.zoe)], now: Self.now + 11 * 3_600_000)
        try expect(contacts.discardStale(partitions: 1, now: Self.now + 12 * 3_600_000), is: [0])
        try expect(listed.list(), is: ["anna/c1=Zoë"])
    }

    @Test("Rereading a topic removes only contacts that it does not name, and only at its end")
    func readAnew() throws {
        var contacts = try contacts()
        _ = try contacts.discardStale(partitions: 1, now: Self.now)
        let boris = #"{"owner":"boris","id":"c1"}"#
        _ = try contacts.apply([(Self.anna, Self.zoe), (boris, Self.zoe)], now: Self.now)
        try contacts.startOver([0], now: Self.now)
        #expect(try contacts.positions().isEmpty)
        _ = try contacts.apply([(Self.anna, Self.zoe)], now: Self.now)
        try expect(listed.list(), is: ["anna/c1=Zoë", "boris/c1=Zoë"])
        _ = try contacts.complete([0], now: Self.now)
        try expect(listed.list(), is: ["anna/c1=Zoë"])
    }

    @Test("Removing many contacts opens no file: there may be no folder for temporary ones")
    func withoutTemporaryFile() async {
        await #expect(processExitsWith: .success) {
            let listed = try ContactScene()
            var contacts = try TopicContacts(listed.state, topic: "contacts", cluster: "c")
            _ = try contacts.discardStale(partitions: 1, now: TopicContactsTests.now)
            let padding = String(repeating: "x", count: 150)
            let records = (0..<20_000).map { number -> (key: String?, value: String?) in
                (#"{"owner":"\#(padding)\#(number)","id":"c1"}"#, #"{"name":"Zoë"}"#)
            }
            _ = try contacts.apply(records, now: TopicContactsTests.now)
            try contacts.startOver([0], now: TopicContactsTests.now)
            let next = dup(0)
            close(next)
            var limit = rlimit(rlim_cur: rlim_t(next), rlim_max: rlim_t(next))
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            _ = try contacts.complete([0], now: TopicContactsTests.now)
            try expect(listed.list(), is: [])
        }
    }

    @Test("If a topic loses partitions, contacts stay until the remaining ones have been read")
    func fewer() throws {
        var contacts = try contacts()
        _ = try contacts.discardStale(partitions: 2, now: Self.now)
        _ = try contacts.apply([(Self.anna, Self.zoe)], now: Self.now)
        _ = try contacts.apply([(#"{"owner":"boris","id":"c1"}"#, Self.zoe)], of: 1, now: Self.now)
        try expect(contacts.discardStale(partitions: 1, now: Self.now), is: [0])
        #expect(try contacts.positions().isEmpty)
        try expect(listed.list(), is: ["anna/c1=Zoë", "boris/c1=Zoë"])
        _ = try contacts.apply([(Self.anna, Self.zoe)], now: Self.now)
        _ = try contacts.complete([0], now: Self.now)
        try expect(listed.list(), is: ["anna/c1=Zoë"])
    }

    @Test("Deleting a person's contacts leaves nothing behind, even during an unfinished rereading")
    func personalData() throws {
        var contacts = try contacts()
        _ = try contacts.discardStale(partitions: 1, now: Self.now)
        _ = try contacts.apply([(Self.anna, Self.zoe)], now: Self.now)
        try contacts.startOver([0], now: Self.now)
        try expect("anna".withBytes { (owner) throws(StoreError) in try listed.store.delete(owner: owner) }, is: 1)
        let database = try Database.open(path: state.path)
        for table in ["contact", "contact_new", "contact_reread"] {
            let count = try database.integer("SELECT count(*) FROM \(table)")
            expect(count, is: 0)
        }
    }

    @Test("Contacts changed by hand stop being the topic's")
    func changedByHand() throws {
        let path = try folder.write(#"{"owner":"anna","id":"c5","name":"Five"}"#, to: "contacts.jsonl")
        _ = try listed.store.importLines(path)
        var contacts = try contacts()
        try expect(contacts.discardStale(partitions: 1, now: Self.now), is: [0])
        try expect(listed.list(), is: [])
        _ = try listed.store.importLines(path)
        let error = #expect(throws: StoreError.self) {
            try self.contacts().apply([(Self.anna, Self.zoe)], now: Self.now)
        }
        expect(error?.description.contains("no longer those of the topic contacts"), is: true)
        try expect(listed.list(), is: ["anna/c5=Five"])
        #expect(throws: StoreError.self) { try self.contacts().see([0], now: Self.now) }
        try expect(contacts.discardStale(partitions: 1, now: Self.now), is: [0])
        try expect(contacts.apply([(Self.anna, Self.zoe)], now: Self.now), is: [])
        try expect(listed.list(), is: ["anna/c1=Zoë"])
    }
}
