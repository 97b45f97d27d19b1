import PushmillTestSupport
import Testing

@testable import PushmillStores

struct ContactTableTests {
    private struct Key: Hashable {
        let owner: String
        let id: String
    }

    /// Random lines, many of them of a few owners. Some contacts have several lines.
    private static func lines(_ seed: UInt64) -> [(key: Key, name: String)] {
        var random = SeededGenerator(seed: seed)
        let owners = Int.random(in: 1...60, using: &random)
        let ids = [3, 40, 2000].randomElement(using: &random) ?? 3
        return (0..<Int.random(in: 1...3000, using: &random)).map { line in
            let owner = Int.random(in: 0..<3, using: &random) == 0 ? 0 : Int.random(in: 0..<owners, using: &random)
            let id = String(repeating: "é", count: Int.random(in: 0...20, using: &random))
            let number = Int.random(in: 0..<ids, using: &random)
            let key = Key(owner: owner == 0 ? "*" : "user-\(owner)", id: "\(id)\(number)")
            return (key, "Name \(line)" + String(repeating: "x", count: Int.random(in: 0...300, using: &random)))
        }
    }

    @Test("Each contact is found by the name of its last line, and no other is found", arguments: 0..<20)
    func found(_ seed: UInt64) throws {
        let lines = Self.lines(seed)
        let names = Dictionary(lines.map { ($0.key, $0.name) }, uniquingKeysWith: { $1 })
        let folder = try TemporaryFolder()
        let text = lines.map { #"{"owner":"\#($0.key.owner)","id":"\#($0.key.id)","name":"\#($0.name)"}"# }
        let path = try folder.write(text.joined(separator: "\n"), to: "contacts.jsonl")
        let file = try ContactFile(path: path)
        for (key, name) in names {
            try expect(file.name(key.id, for: key.owner), is: name)
            #expect(try file.name(key.id + "x", for: key.owner) == nil)
            let other = Key(owner: key.owner + "1", id: key.id)
            try expect(file.name(other.id, for: other.owner), is: names[other])
        }
    }

    @Test("A file that begins with a byte order mark is read")
    func mark() throws {
        let folder = try TemporaryFolder()
        let line = #"{"owner":"anna","id":"c1","name":"Zoë"}"#
        let file = try ContactFile(path: try folder.write("\u{FEFF}\(line)\n", to: "contacts.jsonl"))
        try expect(file.name("c1", for: "anna"), is: "Zoë")
    }

    @Test("Preparing an owner changes no look-up, and preparing an unknown owner does nothing")
    func prepared() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(#"{"owner": "anna", "id": "c1", "name": "Zoë"}"#, to: "contacts.jsonl")
        let file = try ContactFile(path: path)
        for owner in ["anna", "", "boris"] {
            owner.withBytes { owner in for isNear in [false, true] { file.prepare(owner, isNear: isNear) } }
        }
        try expect(file.name("c1", for: "anna"), is: "Zoë")
        let empty = try ContactFile(path: try folder.write("", to: "none.jsonl"))
        "anna".withBytes { owner in for isNear in [false, true] { empty.prepare(owner, isNear: isNear) } }
        #expect(try empty.name("c1", for: "anna") == nil)
    }
}
