import Glibc

/// A JSON text with an index of byte ranges. Edits are appended and leave the text read as it was, so that rendering
/// gives back every byte that no edit touched. A value type; its storage is reused from one `read` to the next.
public struct JSONDocument: Sendable {
    /// How many containers may stand inside one another.
    public static let maximumDepth = 128
    static let maximumCount = 1 << 30
    /// So that no look-ahead passes the end.
    static let padding = TextBlock.count

    /// Each edit makes it the document's own before anything else.
    @usableFromInline var storage = JSONStorage()

    // Not checked: whatever index or range a record has was put there by the reader or an edit, and nodes are checked
    // where a document is asked about them.
    @usableFromInline var bytes: UnsafeMutablePointer<UInt8> { storage.bytes.base }
    var records: UnsafeMutablePointer<JSONRecord> { storage.records.base }

    /// What the index takes: many times as much as the text where that is made of short values.
    package var indexByteCount: Int { storage.records.count * MemoryLayout<JSONRecord>.stride }

    /// It has so much more memory than others that the next `read` gives some back.
    package var isLarge: Bool { storage.isLarge }

    /// The empty object.
    public init() {}

    public init(_ json: String) throws(PayloadError) { try self.init(bytes: Array(json.utf8)) }

    package init(bytes: [UInt8]) throws(PayloadError) {
        self.init()
        try bytes.withUnsafeBufferPointer { (bytes) throws(PayloadError) in try read(UnsafeRawBufferPointer(bytes)) }
    }

    /// Copies and indexes the text. If it throws, the document is the empty object.
    public mutating func read(_ source: UnsafeRawBufferPointer) throws(PayloadError) {
        if !isKnownUniquelyReferenced(&storage) { storage = JSONStorage() }
        guard source.count <= Self.maximumCount else {
            storage.clear()
            throw .notJSON(offset: Self.maximumCount, fault: .tooLong)
        }
        storage.store(source)
        do throws(PayloadError) {
            try storage.index(from: 0, to: source.count, depth: 0)
        } catch {
            storage.clear()
            throw error
        }
    }

    /// Overwrites the text read, for secrets; nothing can be asked of it from then on. Copies keep theirs.
    /// A `count` is what was read since the last time, where that is known.
    package mutating func wipe(upTo count: Int = .max) {
        unshare()
        storage.bytes.wipe(upTo: count)
    }

    mutating func unshare() {
        if !isKnownUniquelyReferenced(&storage) { storage = JSONStorage(copyOf: storage) }
    }
}

extension JSONDocument {
    /// The value of a number that is a whole one in `Int`'s range, however it is spelled (`100`, `1e2`, `100.0`). What is
    /// spelled with a fraction or an exponent is as exact as a double.
    public func integer(of node: JSONNode) -> Int? {
        let record = records[value(of: node)]
        guard record.kind == .number else { return nil }
        let text = UnsafeBufferPointer(start: bytes + Int(record.start), count: Int(record.end - record.start))
        let isNegative = text[0] == UInt8(ascii: "-")
        guard let magnitude = DecimalText.read(text.dropFirst(isNegative ? 1 : 0)) else {
            return Double(String(decoding: text, as: UTF8.self)).flatMap { Int(exactly: $0) }
        }
        // The side below zero reaches one further.
        if isNegative, magnitude == Int64.min.magnitude { return .min }
        return Int(exactly: magnitude).map { isNegative ? -$0 : $0 }
    }
}
