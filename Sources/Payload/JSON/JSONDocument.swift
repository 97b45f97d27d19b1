import Glibc

/// A JSON text with an index of byte ranges. Edits are appended and leave the text unchanged, so rendering returns
/// every byte that no edit touched. A value type; its storage is reused from one `read` to the next.
public struct JSONDocument: Sendable {
    /// How many containers may be nested.
    public static let maximumDepth = 128
    static let maximumCount = 1 << 30
    /// Zero bytes after the text, so no look-ahead passes the end.
    static let padding = TextBlock.count

    /// Every edit unshares it first.
    @usableFromInline var storage = JSONStorage()

    // Unchecked: only the reader and edits put indexes and ranges into records, and a document checks the nodes that
    // callers pass.
    @usableFromInline var bytes: UnsafeMutablePointer<UInt8> { storage.bytes.base }
    var records: UnsafeMutablePointer<JSONRecord> { storage.records.base }

    /// The memory of the index: many times the text's if the text consists of short values.
    package var indexByteCount: Int { storage.records.count * MemoryLayout<JSONRecord>.stride }

    /// True if it has so much memory that the next `read` frees some.
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

    /// Overwrites the text of a secret; the document is unusable until the next `read`. Copies keep their text. `count`
    /// is the number of bytes read since the last wipe, if known.
    package mutating func wipe(upTo count: Int = .max) {
        unshare()
        storage.bytes.wipe(upTo: count)
    }

    mutating func unshare() {
        if !isKnownUniquelyReferenced(&storage) { storage = JSONStorage(copyOf: storage) }
    }
}

extension JSONDocument {
    /// The number, if it is whole and in `Int`'s range, however it is spelled (`100`, `1e2`, `100.0`). A fraction or an
    /// exponent is read with the precision of a double.
    public func integer(of node: JSONNode) -> Int? {
        let record = records[value(of: node)]
        guard record.kind == .number else { return nil }
        let text = UnsafeBufferPointer(start: bytes + Int(record.start), count: Int(record.end - record.start))
        let isNegative = text[0] == UInt8(ascii: "-")
        guard let magnitude = DecimalText.read(text.dropFirst(isNegative ? 1 : 0)) else {
            return Double(String(decoding: text, as: UTF8.self)).flatMap { Int(exactly: $0) }
        }
        // The negative range reaches one further.
        if isNegative, magnitude == Int64.min.magnitude { return .min }
        return Int(exactly: magnitude).map { isNegative ? -$0 : $0 }
    }
}
