/// The tokens of the grammar: each function takes the offset where one begins and gives the offset after it.
/// `JSONDocument.padding` zero bytes must follow the text, so that no look-ahead needs a bounds check: no rule of the
/// grammar passes a zero.
struct JSONTokens {
    let bytes: UnsafePointer<UInt8>
    /// The offset after the text's last byte.
    let end: Int

    @inline(__always)
    func skipWhitespace(_ start: Int) -> Int {
        var at = start
        while bytes[at] <= 0x20 {
            switch bytes[at] {
            case 0x20, 0x0A, 0x0D, 0x09: at += 1
            default: return at
            }
        }
        return at
    }

    /// Takes the offset after the opening quote; gives that of the closing one.
    func skipString(_ start: Int) throws(PayloadError) -> (close: Int, isEscaped: Bool) {
        var isEscaped = false
        var at = start
        while true {
            let plain = TextBlock.plainPrefix(bytes + at)
            guard plain < TextBlock.count else {
                at &+= TextBlock.count
                continue
            }
            at += plain
            switch bytes[at] {
            case UInt8(ascii: "\""):
                return (at, isEscaped)
            case UInt8(ascii: "\\"):
                isEscaped = true
                at = try skipEscape(at)
            case 0x80...:
                repeat {
                    let length = UTF8Scalar.length(bytes + at, available: end - at)
                    guard length > 0 else { throw fault(.invalidUTF8, at) }
                    at += length
                } while bytes[at] >= 0x80
            default:
                throw fault(.controlCharacter, at)
            }
        }
    }

    private func skipEscape(_ start: Int) throws(PayloadError) -> Int {
        switch bytes[start + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 2
        case UInt8(ascii: "u"):
            for digit in start + 2..<start + 6 where JSONText.hexadecimalValue(bytes[digit]) == nil {
                throw fault(.invalidEscape, digit)
            }
            return start + 6
        default:
            throw fault(.invalidEscape, start + 1)
        }
    }

    func skipNumber(_ start: Int) throws(PayloadError) -> Int {
        var at = start
        if bytes[at] == UInt8(ascii: "-") { at += 1 }
        if bytes[at] == UInt8(ascii: "0") {
            at += 1
        } else {
            at = try skipDigits(at)
        }
        if bytes[at] == UInt8(ascii: ".") { at = try skipDigits(at + 1) }
        if bytes[at] | 0x20 == UInt8(ascii: "e") {
            at += 1
            if bytes[at] == UInt8(ascii: "+") || bytes[at] == UInt8(ascii: "-") { at += 1 }
            at = try skipDigits(at)
        }
        return at
    }

    private func skipDigits(_ start: Int) throws(PayloadError) -> Int {
        var at = start
        while bytes[at] &- UInt8(ascii: "0") < 10 { at += 1 }
        guard at > start else { throw fault(.invalidNumber, at) }
        return at
    }

    func skipLiteral(_ literal: StaticString, _ start: Int) throws(PayloadError) -> Int {
        for position in 0..<literal.utf8CodeUnitCount where bytes[start + position] != literal.utf8Start[position] {
            throw fault(.unexpectedByte, start + position)
        }
        return start + literal.utf8CodeUnitCount
    }

    func fault(_ fault: JSONFault, _ at: Int) -> PayloadError {
        .notJSON(offset: at, fault: at >= end ? .unexpectedEnd : fault)
    }
}
