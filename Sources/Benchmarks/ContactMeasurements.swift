import PushmillPayload
import PushmillStages
import PushmillStores

extension Measurement {
    /// What contacts cost, so many of them in the memory of a file and in the embedded store. Writes into the folder.
    package static func contacts(in folder: String, count: Int = 1_000_000) throws -> [Measurement] {
        let path = "\(folder)/contacts.jsonl"
        try ContactSample.write(count, to: path)
        let file = try ContactFile(path: path)
        let state = try StateFile(path: "\(folder)/contacts.sqlite", access: .shared)
        _ = try ContactStore(state).importLines(path)
        let stored = try StoredContacts(state)
        let large = "looked up in a file of \(file.byteCount >> 20) MiB"
        let (owner, id) = (ContactSample.owner(of: count / 2), ContactSample.id(of: count / 2))
        return [
            try noContact(in: file),
            try contact("contact, a text with a name from a file", id, of: owner, in: file),
            try contact("contact, a text with a name from the store", id, of: owner, in: stored),
            try lookUp("contact, looked up in a file", 1, of: count, in: file),
            try lookUp("contact, \(large)", 200_000, of: count, in: file),
            try lookUp("contact, \(large), prepared", 200_000, of: count, in: file, ahead: 8),
            try lookUp("contact, looked up in the store's cache", 1, of: count, in: stored),
            try lookUp("contact, looked up in the store", 20_000, of: count, in: StoredContacts(state, capacity: 1)),
        ]
    }

    /// Asks for contacts in turn, each far from the last; what is to come is prepared so far ahead.
    private static func lookUp(
        _ name: String, _ different: Int, of count: Int, in book: any ContactBook, ahead: Int = 0
    ) throws -> Measurement {
        // One after another in memory, for the processor to see them coming.
        var texts: [UInt8] = []
        var keys: [(owner: Range<Int>, id: Range<Int>)] = []
        for number in 0..<different {
            let contact = number &* 7_919_317 % count
            let start = texts.count
            texts += ContactSample.owner(of: contact).utf8
            let middle = texts.count
            texts += ContactSample.id(of: contact).utf8
            keys.append((start..<middle, middle..<texts.count))
        }
        var next = 0
        return try Measurement(name, messages: 20_000, batches: 5) { () throws(ContactsUnavailable) in
            let text = texts.span.bytes
            let key = keys[next]
            next = (next + 1) % keys.count
            if ahead > 0 { book.prepare(text.extracting(keys[(next + ahead) % keys.count].owner)) }
            guard try book.find(text.extracting(key.id), of: text.extracting(key.owner), { _, _ in }) else {
                throw ContactsUnavailable("the sample's contact \(next) is not there")
            }
        }
    }
}

enum ContactSample {
    static func owner(of contact: Int) -> String { "user-\(contact / 20)" }
    static func id(of contact: Int) -> String { "c\(contact % 20)" }

    static func write(_ count: Int, to path: String) throws(FileFailure) {
        try write(to: path) { write in
            var lines = LineBatch()
            for contact in 0..<count {
                lines.add(handOver: write) { line in
                    line.append(owner(of: contact), as: "owner")
                    line.append(id(of: contact), as: "id")
                    line.append("Zoë Martin \(contact)", as: "name")
                }
            }
            _ = lines.finish(handOver: write)
        }
    }

    static func write(to path: String, _ body: (_ write: ([UInt8]) -> Void) -> Void) throws(FileFailure) {
        let file = try OutputFile(path: path)
        var failure: FileFailure?
        body { bytes in
            do throws(FileFailure) { try file.write(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
        try file.close()
    }
}
