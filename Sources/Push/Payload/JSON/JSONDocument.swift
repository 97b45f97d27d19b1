/// A JSON text with an index of byte ranges. Edits are appended and leave the text read as it was, so that rendering
/// gives back every byte that no edit touched. A value type; its storage is reused from one `read` to the next.
public struct JSONDocument: Sendable {
    /// How many containers may stand inside one another.
    public static let maximumDepth = 128
    static let maximumCount = 1 << 30
    /// So that no look-ahead passes the end.
    static let padding = TextBlock.count
    /// Storage that has grown further for one text is given back before the next.
    private static let keptCapacity = 1 << 16

    /// The text read, its padding, a comma to put between members, then what edits have added.
    var bytes: [UInt8] = []
    var records: [JSONRecord] = []
    /// Each record as it was before a change, in order.
    var journal: [(index: UInt32, before: JSONRecord)] = []
    var sourceCount = 0
    var comma: Range<Int> { sourceCount + Self.padding..<sourceCount + Self.padding + 1 }

    /// The empty object.
    public init() {
        clear()
    }

    public init(_ json: String) throws(PayloadError) { try self.init(bytes: Array(json.utf8)) }

    package init(bytes: [UInt8]) throws(PayloadError) {
        self.init()
        try bytes.withUnsafeBufferPointer { (bytes) throws(PayloadError) in try read(UnsafeRawBufferPointer(bytes)) }
    }

    /// Copies and indexes the text. If it throws, the document is the empty object.
    public mutating func read(_ source: UnsafeRawBufferPointer) throws(PayloadError) {
        guard source.count <= Self.maximumCount else {
            clear()
            throw .notJSON(offset: Self.maximumCount, fault: .tooLong)
        }
        store(source)
        do throws(PayloadError) {
            try index(from: 0, to: sourceCount, depth: 0)
        } catch {
            clear()
            throw error
        }
    }

    /// Appends the records of the value in this range of `bytes`, which padding follows.
    mutating func index(from start: Int, to end: Int, depth: Int) throws(PayloadError) {
        var records = exchange(&self.records, with: [])
        defer { self.records = records }
        try bytes.withUnsafeBufferPointer { (bytes) throws(PayloadError) in
            guard let base = bytes.baseAddress else { return }
            let tokens = JSONTokens(bytes: base, end: end)
            var reader = JSONReader(tokens, from: start, depth: depth, records: exchange(&records, with: []))
            defer { records = reader.records }
            try reader.read()
        }
    }

    /// Overwrites the text read, for secrets; nothing can be asked of it from then on.
    mutating func wipe() { bytes.wipe() }

    private mutating func store(_ source: UnsafeRawBufferPointer) {
        journal.removeAll(keepingCapacity: true)
        records.removeAll(keepingCapacity: records.capacity <= Self.keptCapacity)
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
        // Where it grew on the way, it would leave copies of the text behind, which may hold keys.
        let count = source.count + Self.padding + 1
        if bytes.capacity < count { bytes.reserveCapacity(count) }
        bytes.append(contentsOf: source)
        bytes.append(contentsOf: repeatElement(0, count: Self.padding))
        bytes.append(UInt8(ascii: ","))
        sourceCount = source.count
    }

    private mutating func clear() {
        let empty: StaticString = "{}"
        store(UnsafeRawBufferPointer(start: empty.utf8Start, count: empty.utf8CodeUnitCount))
        var root = JSONRecord(start: 0, kind: .object)
        root.end = UInt32(sourceCount)
        records.append(root)
    }
}
