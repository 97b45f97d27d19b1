import PushmillPayload

/// Reads the notation of `.strings` files: old-style property lists, whose outermost braces may be missing.
struct OldStyleReader {
    private let source: SourceText
    private var at = 0

    static func read(_ source: SourceText) throws(CatalogProblem) -> Property {
        var reader = OldStyleReader(source: source)
        return try reader.readFile()
    }

    private var next: UInt8? { at < source.bytes.count ? source.bytes[at] : nil }

    private func peek(_ distance: Int) -> UInt8? {
        at + distance < source.bytes.count ? source.bytes[at + distance] : nil
    }

    private mutating func take(_ byte: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: byte) else { return false }
        at += 1
        return true
    }

    private mutating func readFile() throws(CatalogProblem) -> Property {
        try skipBlank()
        let start = at
        let hasBraces = take("{")
        let members = try readMembers(depth: 1)
        if hasBraces, !take("}") { throw expected("a key or }") }
        try skipBlank()
        guard next == nil else { throw expected("a key") }
        return Property(content: .dictionary(members), offset: start)
    }

    /// Reads members up to something that is not a key.
    private mutating func readMembers(
        depth: Int
    ) throws(CatalogProblem) -> [(key: SourceString, value: Property)] {
        var members: [(key: SourceString, value: Property)] = []
        try skipBlank()
        while let byte = next, isString(byte) {
            let start = at
            let key = SourceString(bytes: try readText(), offset: start)
            // A key alone is its own value.
            var value = Property(content: .string(key.bytes), offset: start)
            try skipBlank()
            if take("=") {
                try skipBlank()
                value = try readValue(depth: depth)
                try skipBlank()
            } else if next != UInt8(ascii: ";") {
                throw expected("=")
            }
            guard take(";") || next == UInt8(ascii: "}") else { throw expected(";") }
            members.append((key, value))
            try skipBlank()
        }
        return members
    }

    private mutating func readValue(depth: Int) throws(CatalogProblem) -> Property {
        let start = at
        guard let byte = next else { throw expected("a value") }
        guard depth < Property.maximumDepth else { throw source.problem(at: at, "nested too deeply") }
        if isString(byte) { return Property(content: .string(try readText()), offset: start) }
        guard take("{") else { throw expected("a string or a dictionary") }
        let members = try readMembers(depth: depth + 1)
        guard take("}") else { throw expected("a key or }") }
        return Property(content: .dictionary(members), offset: start)
    }

    private func isString(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || isUnquoted(byte)
    }

    private func isUnquoted(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "_$/:.-".utf8.contains(byte)
    }

    private mutating func readText() throws(CatalogProblem) -> ArraySlice<UInt8> {
        let start = at
        guard let quote = next, !isUnquoted(quote) else {
            while let byte = next, isUnquoted(byte) { at += 1 }
            return source.bytes[start..<at]
        }
        at += 1
        var text: [UInt8] = []
        while let byte = next {
            at += 1
            if byte == quote { return text[...] }
            if byte == UInt8(ascii: "\\") {
                try readEscape(into: &text)
            } else {
                text.append(byte)
            }
        }
        throw source.problem(at: start, "the string is not terminated")
    }

    /// Reads what follows a backslash.
    private mutating func readEscape(into text: inout [UInt8]) throws(CatalogProblem) {
        guard let letter = next else { return }
        at += 1
        switch letter {
        case UInt8(ascii: "a"): text.append(0x07)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "v"): text.append(0x0B)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "U"), UInt8(ascii: "u"): text += try readCodeUnits().utf8
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            at -= 1
            text.append(try readOctal())
        default: text.append(letter)
        }
    }

    /// Reads four hexadecimal digits, or a surrogate pair in two escapes.
    private mutating func readCodeUnits() throws(CatalogProblem) -> Unicode.Scalar {
        let start = at - 2
        var value = hexadecimal(4)
        if let high = value, high & 0xFC00 == 0xD800, next == UInt8(ascii: "\\"),
            (peek(1) ?? 0) | 0x20 == UInt8(ascii: "u")
        {
            at += 2
            value = hexadecimal(4).flatMap { $0 & 0xFC00 == 0xDC00 ? 0x10000 + (high & 0x3FF) << 10 + $0 & 0x3FF : nil }
        }
        guard let value, let scalar = Unicode.Scalar(value) else {
            throw source.problem(at: start, "\\U needs four hexadecimal digits of a character")
        }
        return scalar
    }

    private mutating func hexadecimal(_ count: Int) -> UInt32? {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let digit = next.flatMap({ JSONText.hexadecimalValue($0) }) else { return nil }
            value = value << 4 | digit
            at += 1
        }
        return value
    }

    private mutating func readOctal() throws(CatalogProblem) -> UInt8 {
        let start = at - 1
        var value = 0
        for _ in 0..<3 {
            guard let digit = next, (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(digit) else { break }
            value = value << 3 | Int(digit - UInt8(ascii: "0"))
            at += 1
        }
        // Beyond ASCII, such an escape means a character of NEXTSTEP's own character set.
        guard value < 0x80 else {
            throw source.problem(at: start, "an octal escape beyond \\177; write the character itself")
        }
        return UInt8(value)
    }

    /// Skips white space and both kinds of comments.
    private mutating func skipBlank() throws(CatalogProblem) {
        while let byte = next {
            switch (byte, peek(1)) {
            case (0x09...0x0D, _), (0x20, _): at += 1
            case (UInt8(ascii: "/"), UInt8(ascii: "/")):
                while let byte = next, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { at += 1 }
            case (UInt8(ascii: "/"), UInt8(ascii: "*")):
                let start = at
                at += 2
                while next != nil, !(next == UInt8(ascii: "*") && peek(1) == UInt8(ascii: "/")) { at += 1 }
                guard next != nil else { throw source.problem(at: start, "the comment is not terminated") }
                at += 2
            // The line separators of Unicode.
            case (0xE2, 0x80) where peek(2) == 0xA8 || peek(2) == 0xA9: at += 3
            default: return
            }
        }
    }

    private func expected(_ what: String) -> CatalogProblem {
        source.problem(at: at, "expected \(what)" + (next == nil ? ", but the file ends" : ""))
    }
}
