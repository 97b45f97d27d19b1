/// Reads JSON strictly by RFC 8259 and appends a record for every value: one pass, no recursion.
struct JSONReader: ~Copyable {
    private let tokens: JSONTokens
    private(set) var records: [JSONRecord]

    private var at: Int
    private var depth: Int
    /// The innermost open container, and its child read last (0 for none).
    private var container: UInt32 = 0
    private var containerKind = JSONKind.null
    private var previous: UInt32 = 0
    /// Of the member whose value comes next.
    private var nameStart: UInt32 = 0
    private var nameEnd: UInt32 = 0
    private var nameFlags: JSONRecord.Flags = []

    init(_ tokens: JSONTokens, from start: Int, depth: Int, records: consuming [JSONRecord]) {
        self.tokens = tokens
        self.records = records
        self.depth = depth
        at = start
    }

    /// Reads the one value up to the end of the text; the first record appended is its own.
    @inline(__always)
    mutating func read() throws(PayloadError) {
        let outerDepth = depth
        let outermost = records.count
        at = tokens.skipWhitespace(at)
        repeat {
            try readValue()
        } while try readSeparators(downTo: outerDepth)
        records[outermost].next = 0
        at = tokens.skipWhitespace(at)
        guard at == tokens.end else { throw tokens.fault(.trailingBytes, at) }
    }

    /// Reads a scalar, or the opening of a container.
    @inline(__always)
    private mutating func readValue() throws(PayloadError) {
        let start = at
        var flags = nameFlags
        let kind: JSONKind
        switch tokens.bytes[at] {
        case UInt8(ascii: "\""):
            let (close, isEscaped) = try tokens.skipString(at + 1)
            if isEscaped { flags.insert(.escapedText) }
            kind = .string
            at = close + 1
        case UInt8(ascii: "{"):
            kind = .object
            at += 1
        case UInt8(ascii: "["):
            kind = .array
            at += 1
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            kind = .number
            at = try tokens.skipNumber(at)
        case UInt8(ascii: "t"):
            kind = .true
            at = try tokens.skipLiteral("true", at)
        case UInt8(ascii: "f"):
            kind = .false
            at = try tokens.skipLiteral("false", at)
        case UInt8(ascii: "n"):
            kind = .null
            at = try tokens.skipLiteral("null", at)
        default:
            throw tokens.fault(.unexpectedByte, at)
        }

        let index = UInt32(truncatingIfNeeded: records.count)
        // The next record is taken for a sibling until its container ends, or until this one has children.
        records.append(
            JSONRecord(
                start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: at),
                nameStart: nameStart, nameEnd: nameEnd, parent: container, next: index + 1, kind: kind, flags: flags))
        previous = index
        if kind == .object || kind == .array { try open(index, kind, start) }
    }

    @inline(__always)
    private mutating func open(_ index: UInt32, _ kind: JSONKind, _ start: Int) throws(PayloadError) {
        guard depth < JSONDocument.maximumDepth else { throw .tooDeep(offset: start) }
        depth += 1
        container = index
        containerKind = kind
        previous = 0
        at = tokens.skipWhitespace(at)
    }

    /// Goes on to the next value, over the ends of containers; false if the outermost value has ended.
    @inline(__always)
    private mutating func readSeparators(downTo outerDepth: Int) throws(PayloadError) -> Bool {
        while depth > outerDepth {
            at = tokens.skipWhitespace(at)
            let byte = tokens.bytes[at]
            if byte == (containerKind == .object ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                at += 1
                depth -= 1
                close()
                continue
            }
            if previous != 0 {
                guard byte == UInt8(ascii: ",") else { throw tokens.fault(.missingSeparator, at) }
                at = tokens.skipWhitespace(at + 1)
            }
            if containerKind == .object { try readName() } else { forgetName() }
            return true
        }
        return false
    }

    @inline(__always)
    private mutating func close() {
        if previous != 0 { records[Int(previous)].next = 0 }
        records[Int(container)].close(
            end: UInt32(truncatingIfNeeded: at), firstChild: previous == 0 ? 0 : container + 1,
            next: UInt32(truncatingIfNeeded: records.count))
        previous = container
        container = records[Int(container)].parent
        containerKind = records[Int(container)].kind
    }

    /// Reads a name and its colon and goes on to the value.
    @inline(__always)
    private mutating func readName() throws(PayloadError) {
        guard tokens.bytes[at] == UInt8(ascii: "\"") else { throw tokens.fault(.missingName, at) }
        let (close, isEscaped) = try tokens.skipString(at + 1)
        nameStart = UInt32(truncatingIfNeeded: at + 1)
        nameEnd = UInt32(truncatingIfNeeded: close)
        nameFlags = isEscaped ? .escapedName : []
        at = tokens.skipWhitespace(close + 1)
        guard tokens.bytes[at] == UInt8(ascii: ":") else { throw tokens.fault(.missingColon, at) }
        at = tokens.skipWhitespace(at + 1)
    }

    @inline(__always)
    private mutating func forgetName() {
        nameStart = 0
        nameEnd = 0
        nameFlags = []
    }
}
