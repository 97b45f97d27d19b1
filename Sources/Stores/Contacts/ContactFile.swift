package import PushmillLocalization
package import PushmillStages

/// A JSON Lines file of contacts, held in memory and read again when it changes.
package final class ContactFile: ContactBook {
    private let table: ReloadableFile<ContactTable>

    /// Throws a `StoreError` that names the file, and the line if one is wrong.
    package init(path: String) throws {
        table = try ReloadableFile(path: path) { path, _ in try ContactTable(path: path) }
    }

    /// What has to be watched. A file that cannot be read leaves the contacts that were there.
    package var file: any Reloadable { table }

    package func find(_ id: RawSpan, of owner: RawSpan, _ body: (Span<UInt8>, TextDirection) -> Void) -> Bool {
        table.value.find(id, of: owner, body)
    }
}

/// The contacts of a JSON Lines file in memory: their records one after another, and an index into them.
final class ContactTable: Sendable {
    private let records: [UInt8]
    private let index: KeyIndex

    /// Of lines with the same owner and identifier the last one counts.
    init(path: String) throws(StoreError) {
        var lines = try ContactLines(path)
        var records: [UInt8] = []
        // A record is shorter than its line. What stays unused is never touched, and costs nothing.
        records.reserveCapacity(lines.fileSize)
        var index = KeyIndex()
        while true {
            let start = records.count
            guard start < Int(UInt32.max) else { throw lines.failure("more than 4 GiB of contacts") }
            var isShort = true
            let isLine = try lines.next { (owner, id, name) throws(StoreError) in
                let hash = KeyIndex.hash(owner, id)
                let earlier = index.find(hash) { ContactRecord.matches(records, at: $0, owner: owner, id: id) }
                let name = ContactName.clean(name)
                isShort = ContactRecord.append(owner: owner, id: id, name: name, to: &records)
                if let earlier {
                    index.renumber(hash, earlier, to: start)
                } else {
                    index.insert(hash, start)
                }
            }
            guard isShort else { throw lines.failure("a text is longer than \(ContactRecord.longest) bytes") }
            if !isLine { break }
        }
        self.records = records
        self.index = index
    }

    func find(_ id: RawSpan, of owner: RawSpan, _ body: (Span<UInt8>, TextDirection) -> Void) -> Bool {
        let hash = KeyIndex.hash(owner, id)
        let found = index.find(hash) { ContactRecord.matches(records, at: $0, owner: owner, id: id) }
        guard let found else { return false }
        return ContactRecord.giveName(of: records, at: found, body)
    }
}
