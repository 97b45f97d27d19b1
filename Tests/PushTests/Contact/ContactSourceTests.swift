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
        #expect(try SettingFormat.contactSource.parse(text, "/etc/pushmill") == expected)
    }

    @Test("A topic that can have no such name is none", arguments: ["topic:", "topic:a b", "topic:a/b", "topic:.."])
    func noTopic(_ text: String) {
        let mismatch = #expect(throws: SettingMismatch.self) { try SettingFormat.contactSource.parse(text, "") }
        #expect(mismatch?.expected.hasPrefix("a topic's name") == true)
    }
}
