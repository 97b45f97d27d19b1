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

    /// What the contacts take in memory.
    package var byteCount: Int { table.value.byteCount }

    package func prepare(_ owner: RawSpan) { table.withValue { $0.prepare(owner) } }

    package func find(_ id: RawSpan, of owner: RawSpan, _ body: (Span<UInt8>, TextDirection) -> Void) -> Bool {
        table.withValue { $0.find(id, of: owner, body) }
    }
}
