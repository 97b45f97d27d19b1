/// Reads JSON strictly by RFC 8259 and writes a record for every value. One pass, no recursion; `JSONDocument.padding`
/// zero bytes must follow the text, so that no look-ahead needs a bounds check: no rule of the grammar passes a zero.
struct JSONReader: ~Copyable {
    let bytes: UnsafePointer<UInt8>
    /// The offset after the text's last byte.
    let end: Int
    var records: [JSONRecord]

    /// Reads the one value between `start` and `end`, already `depth` containers deep; its record is the first appended.
    mutating func read(from start: Int, depth outerDepth: Int) throws(PayloadError) {
        var at = skipWhitespace(start)
        var depth = outerDepth
        var container: UInt32 = 0
        var previous: UInt32 = 0
        var name = Name()

        while true {
            // A value.
            let index = UInt32(truncatingIfNeeded: records.count)
            var record = JSONRecord(start: UInt32(truncatingIfNeeded: at), kind: .null)
            record.nameStart = name.start
            record.nameEnd = name.end
            record.flags = name.flags
            record.parent = container
            let first = bytes[at]
            switch first {
            case UInt8(ascii: "\""):
                record.kind = .string
                at = try skipString(at + 1, whenEscaped: .escapedText, &record.flags) + 1
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < JSONDocument.maximumDepth else { throw .tooDeep(offset: at) }
                record.kind = first == UInt8(ascii: "{") ? .object : .array
                at += 1
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                record.kind = .number
                at = try skipNumber(at)
            case UInt8(ascii: "t"):
                record.kind = .true
                at = try skipLiteral("true", at)
            case UInt8(ascii: "f"):
                record.kind = .false
                at = try skipLiteral("false", at)
            case UInt8(ascii: "n"):
                at = try skipLiteral("null", at)
            default:
                throw fault(.unexpectedByte, at)
            }
            record.end = UInt32(truncatingIfNeeded: at)
            records.append(record)
            if previous != 0 {
                records[Int(previous)].next = index
            } else if depth > outerDepth {
                records[Int(container)].firstChild = index
            }
            previous = index

            if record.kind == .object || record.kind == .array {
                at = skipWhitespace(at)
                depth += 1
                container = index
                previous = 0
                if bytes[at] != closing(record.kind) {
                    name = record.kind == .object ? try readName(&at) : Name()
                    continue
                }
            }

            // What follows a value: the ends of containers, then a comma, or the end of all.
            while depth > outerDepth {
                at = skipWhitespace(at)
                let kind = records[Int(container)].kind
                if bytes[at] == UInt8(ascii: ",") {
                    at = skipWhitespace(at + 1)
                    name = kind == .object ? try readName(&at) : Name()
                    break
                }
                guard bytes[at] == closing(kind) else { throw fault(.missingSeparator, at) }
                at += 1
                depth -= 1
                previous = container
                records[Int(container)].end = UInt32(truncatingIfNeeded: at)
                container = records[Int(container)].parent
            }
            if depth == outerDepth { break }
        }
        at = skipWhitespace(at)
        guard at == end else { throw fault(.trailingBytes, at) }
    }

    private struct Name {
        var start: UInt32 = 0
        var end: UInt32 = 0
        var flags: JSONRecord.Flags = []
    }

    /// Reads a name and its colon and goes on to the value.
    private func readName(_ at: inout Int) throws(PayloadError) -> Name {
        guard bytes[at] == UInt8(ascii: "\"") else { throw fault(.missingName, at) }
        var name = Name()
        let close = try skipString(at + 1, whenEscaped: .escapedName, &name.flags)
        name.start = UInt32(truncatingIfNeeded: at + 1)
        name.end = UInt32(truncatingIfNeeded: close)
        at = skipWhitespace(close + 1)
        guard bytes[at] == UInt8(ascii: ":") else { throw fault(.missingColon, at) }
        at = skipWhitespace(at + 1)
        return name
    }

    private func closing(_ kind: JSONKind) -> UInt8 {
        kind == .object ? UInt8(ascii: "}") : UInt8(ascii: "]")
    }

    func fault(_ fault: JSONFault, _ at: Int) -> PayloadError {
        .notJSON(offset: at, fault: at >= end ? .unexpectedEnd : fault)
    }
}
