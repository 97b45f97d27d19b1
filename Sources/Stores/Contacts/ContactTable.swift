import CPushmillAllocations
import CPushmillMemory
import Glibc
package import PushmillLocalization
import PushmillPayload
package import PushmillStages

/// A JSON Lines file of contacts, held in memory and read again when it changes.
package final class ContactFile: ContactBook {
    private let table: ReloadableFile<ContactTable>

    /// Throws a `StoreError` that names the file, and the line if one is wrong.
    package init(path: String) throws {
        table = try ReloadableFile(path: path) { path, _ in try ContactTable(path: path) }
    }

    /// The file to watch. If it cannot be read, the contacts stay as they are.
    package var file: any Reloadable { table }

    package func prepare(_ owner: RawSpan, isNear: Bool) {
        table.withValue { isNear ? $0.prefetchBlock(of: owner) : $0.prefetchCell(of: owner) }
    }

    package func find(_ id: RawSpan, of owner: RawSpan, _ body: (Span<UInt8>, TextDirection) -> Void) -> Bool {
        table.withValue { $0.find(id, of: owner, body) }
    }
}

/// Contacts in memory, each owner's in one block. A lookup touches the owner's cell in a small index, the beginning of
/// the owner's block, and one bucket in it.
final class ContactTable: Sendable {
    private static let lineSize = 64
    /// Lines prefetched from a block's beginning: most blocks have no more.
    private static let preparedLines = 10

    /// Never changed, and read only within the bounds that the builder has written.
    private let blocks: [UInt8]
    private let owners: KeyIndex

    /// If lines have the same owner and identifier, the last one counts.
    init(path: String) throws(StoreError) {
        var lines = try ContactLines(path)
        var builder = ContactTableBuilder(capacity: lines.fileSize)
        var isShort = true
        while try lines.next({ (owner, id, name) in isShort = builder.add(owner, id, ContactName.clean(name)) }) {
            guard isShort else { throw lines.failure("a text is longer than \(ContactEntry.longest) bytes") }
            guard builder.size < Int(UInt32.max) else { throw lines.failure("more than 4 GiB of contacts") }
        }
        var owners = KeyIndex()
        blocks = builder.finish(&owners)
        self.owners = owners
        // The builder took as much memory again.
        pushmill_allocations_give_back()
    }

    /// Prefetches the index's cell for an owner.
    func prefetchCell(of owner: RawSpan) { owners.prefetch(KeyIndex.hash(owner)) }

    /// Prefetches an owner's block, for which the cell must be read.
    func prefetchBlock(of owner: RawSpan) {
        guard let block = owners.find(KeyIndex.hash(owner), where: { _ in true }) else { return }
        blocks.withUnsafeBytes { blocks in
            guard let base = blocks.baseAddress else { return }
            for at in stride(from: block, to: blocks.count, by: Self.lineSize).prefix(Self.preparedLines) {
                pushmill_prefetch(base + at)
            }
        }
    }

    func find(_ id: RawSpan, of owner: RawSpan, _ body: (Span<UInt8>, TextDirection) -> Void) -> Bool {
        blocks.withUnsafeBytes { blocks in
            guard let base = blocks.baseAddress else { return false }
            let found = owners.find(KeyIndex.hash(owner)) { ContactBlock(base + $0).isOwned(by: owner) }
            guard let found, let entry = ContactBlock(base + found).entry(id, KeyIndex.hash(id)) else { return false }
            let name = entry.name
            guard !name.isEmpty else { return false }
            body(name.bindMemory(to: UInt8.self).span, entry.direction)
            return true
        }
    }
}
