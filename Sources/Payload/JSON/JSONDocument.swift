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
    package mutating func wipe() {
        unshare()
        storage.bytes.wipe()
    }

    mutating func unshare() {
        if !isKnownUniquelyReferenced(&storage) { storage = JSONStorage(copyOf: storage) }
    }
}

extension JSONDocument {
    /// The value of a number that is a whole one in `Int`'s range, however it is spelled (`100`, `1e2`, `100.0`).
    public func integer(of node: JSONNode) -> Int? {
        let record = records[value(of: node)]
        guard record.kind == .number else { return nil }
        return integer(Int(record.start)..<Int(record.end))
    }

    private func integer(_ range: Range<Int>) -> Int? {
        var digits = 0
        // Zeros that may yet turn out to stand before a further digit, or to be scaled away.
        var zeros = 0
        var fraction = 0
        var isFraction = false
        var at = range.lowerBound
        let isNegative = bytes[at] == UInt8(ascii: "-")
        if isNegative { at += 1 }
        while at < range.upperBound, bytes[at] | 0x20 != UInt8(ascii: "e") {
            let byte = bytes[at]
            at += 1
            if byte == UInt8(ascii: ".") {
                isFraction = true
                continue
            }
            if isFraction { fraction += 1 }
            if byte == UInt8(ascii: "0") {
                zeros += 1
                continue
            }
            guard let scaled = Self.scale(digits, zeros + 1) else { return nil }
            let (sum, isOver) = scaled.subtractingReportingOverflow(Int(byte &- UInt8(ascii: "0")))
            guard !isOver else { return nil }
            digits = sum
            zeros = 0
        }
        guard digits != 0 else { return 0 }
        guard let exponent = exponent(at..<range.upperBound) else { return nil }
        // Digits are counted below zero, whose side reaches one further.
        guard let whole = Self.scale(digits, zeros - fraction + exponent) else { return nil }
        guard !isNegative else { return whole }
        return whole == .min ? nil : -whole
    }

    /// What stands after the digits: nothing, or `e` and a number.
    private func exponent(_ range: Range<Int>) -> Int? {
        guard !range.isEmpty else { return 0 }
        var at = range.lowerBound + 1
        let isNegative = bytes[at] == UInt8(ascii: "-")
        if isNegative || bytes[at] == UInt8(ascii: "+") { at += 1 }
        var exponent = 0
        while at < range.upperBound {
            // Beyond any text's length it no longer matters how far.
            exponent = min(exponent * 10 + Int(bytes[at] &- UInt8(ascii: "0")), 1 << 40)
            at += 1
        }
        return isNegative ? -exponent : exponent
    }

    private static func scale(_ number: Int, _ power: Int) -> Int? {
        guard number != 0 else { return 0 }
        guard (0..<20).contains(power) else { return nil }
        var number = number
        for _ in 0..<power {
            let (product, isOver) = number.multipliedReportingOverflow(by: 10)
            guard !isOver else { return nil }
            number = product
        }
        return number
    }
}
