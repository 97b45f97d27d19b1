/// Reads JSON strictly by RFC 8259 and appends a record for every value in one pass, without recursion. One function,
/// so its state stays in registers: as a type with methods it takes a third longer.
extension JSONStorage {
    /// Appends the records of the one value in this range of `bytes`, its own first; padding must follow the range. If
    /// it throws, the appended records mean nothing.
    func index(from start: Int, to end: Int, depth outerDepth: Int) throws(PayloadError) {
        let tokens = JSONTokens(bytes: bytes.base, end: end)
        let outermost = records.count
        var base = records.base
        var count = outermost
        var capacity = records.capacity
        var depth = outerDepth
        // The innermost open container, and its child read last (0 for none).
        var container: UInt32 = 0
        var isObject = false
        var previous: UInt32 = 0
        // Of the member whose value comes next.
        var nameStart: UInt32 = 0
        var nameEnd: UInt32 = 0
        var nameFlags: JSONRecord.Flags = []
        var name = MemberName.other

        var at = tokens.skipWhitespace(start)
        while true {
            // A scalar, or the opening of a container.
            let valueStart = at
            var flags = nameFlags
            let kind: JSONKind
            switch tokens.bytes[at] {
            case UInt8(ascii: "\""):
                let (close, isEscaped) = try tokens.skipString(at &+ 1)
                if isEscaped { flags.insert(.escapedText) }
                kind = .string
                at = close &+ 1
            case UInt8(ascii: "{"):
                kind = .object
                at &+= 1
            case UInt8(ascii: "["):
                kind = .array
                at &+= 1
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

            if count == capacity {
                records.take(count - records.count)
                records.reserve(1)
                base = records.base
                capacity = records.capacity
            }
            let index = UInt32(truncatingIfNeeded: count)
            // The next record is assumed to be a sibling until the container ends or this one gets children.
            (base + count).initialize(
                to: JSONRecord(
                    start: UInt32(truncatingIfNeeded: valueStart), end: UInt32(truncatingIfNeeded: at),
                    nameStart: nameStart, nameEnd: nameEnd, parent: container, next: index &+ 1, kind: kind,
                    flags: flags, name: name))
            latest[name.slot] = index
            count &+= 1
            previous = index
            if kind == .object || kind == .array {
                guard depth < JSONDocument.maximumDepth else { throw .tooDeep(offset: valueStart) }
                depth &+= 1
                container = index
                isObject = kind == .object
                previous = 0
            }

            // Advance to the next value, closing containers that end before it.
            while true {
                at = tokens.skipWhitespace(at)
                if depth == outerDepth {
                    guard at == end else { throw tokens.fault(.trailingBytes, at) }
                    base[outermost].next = 0
                    return records.take(count - records.count)
                }
                let byte = tokens.bytes[at]
                if byte == UInt8(ascii: ","), previous != 0 {
                    at = tokens.skipWhitespace(at &+ 1)
                    break
                }
                guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    guard previous == 0 else { throw tokens.fault(.missingSeparator, at) }
                    break
                }
                at &+= 1
                depth &-= 1
                if previous != 0 { base[Int(previous)].next = 0 }
                base[Int(container)].close(
                    end: UInt32(truncatingIfNeeded: at), firstChild: previous == 0 ? 0 : container &+ 1,
                    next: UInt32(truncatingIfNeeded: count))
                previous = container
                container = base[Int(container)].parent
                isObject = base[Int(container)].kind == .object
            }

            guard isObject else {
                nameStart = 0
                nameEnd = 0
                nameFlags = []
                name = .other
                continue
            }
            // A name and its colon.
            guard tokens.bytes[at] == UInt8(ascii: "\"") else { throw tokens.fault(.missingName, at) }
            let (close, isEscaped) = try tokens.skipString(at &+ 1)
            nameStart = UInt32(truncatingIfNeeded: at &+ 1)
            nameEnd = UInt32(truncatingIfNeeded: close)
            nameFlags = isEscaped ? .escapedName : []
            let spelled = UnsafeBufferPointer(start: tokens.bytes + at + 1, count: close &- at &- 1)
            name = isEscaped ? MemberName(escaped: spelled) : MemberName(spelled)
            at = tokens.skipWhitespace(close &+ 1)
            guard tokens.bytes[at] == UInt8(ascii: ":") else { throw tokens.fault(.missingColon, at) }
            at = tokens.skipWhitespace(at &+ 1)
        }
    }
}
