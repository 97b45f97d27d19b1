import PushmillLocalization
import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillStages

struct ContactSourceTests {
    @Test(
        "A source is the state, a topic or a file",
        arguments: [
            ("state", ContactSource.state), ("topic:contacts", .topic("contacts")),
            ("people.jsonl", .file("/etc/pushmill/people.jsonl")), ("/people.jsonl", .file("/people.jsonl")),
            ("topic", .file("/etc/pushmill/topic")),
        ])
    func source(_ text: String, _ expected: ContactSource) throws {
        try expect(SettingFormat.contactSource.parse(text, "/etc/pushmill"), is: expected)
    }

    @Test("An invalid topic name is rejected", arguments: ["topic:", "topic:a b", "topic:a/b", "topic:.."])
    func noTopic(_ text: String) {
        let mismatch = #expect(throws: SettingMismatch.self) { try SettingFormat.contactSource.parse(text, "") }
        expect(mismatch?.expected.hasPrefix("a topic's name"), is: true)
    }

    @Test("A topic's name has 1 to 249 letters, digits, dots, dashes and underscores")
    func topics() {
        func isTopic(_ name: String) -> Bool { (try? SettingFormat<String>.topic.parse(name, "")) == name }
        #expect(isTopic(String(repeating: "a", count: 249)) && !isTopic(String(repeating: "a", count: 250)))
        #expect(isTopic("a.B-9_0") && isTopic("...") && isTopic("a"))
        #expect(!isTopic("") && !isTopic(".") && !isTopic("..") && !isTopic("é") && !isTopic("²"))
    }

    @Test("A source's description is the text it was read from, and only a path is a file")
    func descriptions() throws {
        for (text, isFile) in [("state", false), ("topic:contacts", false), ("/people.jsonl", true)] {
            let source = try SettingFormat.contactSource.parse(text, "")
            #expect(source.description == text && source.isFile == isFile)
        }
    }

    private func stage(_ settings: Setting) -> (stage: ConfiguredStage?, messages: [String]) {
        var reader = SettingReader(["stages": [settings]])
        let stages = StageRegistry().read("stages", from: &reader)
        reader.finish()
        return (stages.first, reader.messages)
    }

    @Test("A configured stage states its contact source and whether it is partitioned as the events are")
    func configured() {
        expect(stage("contact").stage?.contactSource, is: .state)
        let file = stage(["contact": ["source": "people.jsonl"]])
        expect(file.stage?.contactSource, is: .file("/etc/pushmill/people.jsonl"))
        let topic = stage(["contact": ["source": "topic:c", "co-partitioned": "true"]])
        #expect(topic.stage?.contactSource == .topic("c") && topic.stage?.hasCoPartitionedContacts == true)
        expect(stage(["contact": ["source": "topic:c"]]).stage?.hasCoPartitionedContacts, is: false)
        #expect(stage("badge").stage?.contactSource == nil && stage("badge").stage?.hasCoPartitionedContacts == false)
        for (source, name) in [("state", "state"), ("a", "/etc/pushmill/a")] {
            let mistaken = stage(["contact": ["source": .init(stringLiteral: source), "co-partitioned": "true"]])
            let why = "only a topic source has partitions; the source is \(name)"
            expect(mistaken.messages, is: ["stages.contact.co-partitioned: \(why)"])
        }
    }

    @Test("A program's own stage with the name `contact` reports no contact source")
    func own() throws {
        let entry = StageEntry("contact") { settings in
            _ = settings.optional("source", .text)
            return { _ in throw ContactsUnavailable("not built here") }
        }
        var reader = SettingReader(["stages": [["contact": ["source": "topic:c"]]]])
        let stages = StageRegistry(adding: [entry]).read("stages", from: &reader)
        #expect(try #require(stages.first).contactSource == nil)
    }

    /// Records the owners whose contacts are to be loaded.
    private final class PreparedBook: ContactBook {
        let owners = Mutex<[String]>([])

        func prepare(_ owner: RawSpan, isNear: Bool) {
            let name = owner.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            owners.withLock { $0.append(isNear ? "near \(name)" : name) }
        }

        func find(
            _ id: RawSpan, of owner: RawSpan, _ body: (Span<UInt8>, TextDirection) -> Void
        ) throws(ContactsUnavailable) -> Bool { false }
    }

    @Test(
        "Contacts are prefetched if the record alone names their owner",
        arguments: [
            ("recipient", ["r", "near r"]), ("key", ["k", "near k"]), ("header:x", []), ("/to", []),
        ])
    func prepares(_ owner: String, _ prepared: [String]) throws {
        let book = PreparedBook()
        var options = ContactStage.Options()
        options.owner = [try #require(ValueSource(owner)), .key]
        let chain = Chain([ChainLink(ContactStage(options, book: book))])
        let (recipient, key) = (Array("r".utf8), Array("k".utf8))
        recipient.withUnsafeBytes { recipient in
            key.withUnsafeBytes { key in
                for isNear in [false, true] { chain.prepare(recipient: { recipient }, key: key, isNear: isNear) }
            }
        }
        chain.prepare(recipient: { nil }, key: nil, isNear: true)
        expect(book.owners.withLock { $0 }, is: prepared)
    }
}
