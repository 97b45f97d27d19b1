struct XMLPropertyReader {
    private let source: SourceText
    private var at = 0

    static func read(_ source: SourceText) throws(CatalogProblem) -> Property {
        var reader = XMLPropertyReader(source: source)
        return try reader.readFile()
    }

    private struct Tag {
        let name: String
        let offset: Int
        let isClosing: Bool
        /// `<dict/>`
        let isEmpty: Bool
    }

    private var next: UInt8? { at < source.bytes.count ? source.bytes[at] : nil }

    private mutating func readFile() throws(CatalogProblem) -> Property {
        let outer = try readTag()
        guard outer.name == "plist", !outer.isClosing, !outer.isEmpty else {
            throw source.problem(at: outer.offset, "expected <plist>")
        }
        let root = try readValue(try readTag(), depth: 0)
        try close("plist")
        try skipMisc()
        if next != nil { throw source.problem(at: at, "text after </plist>") }
        return root
    }

    private mutating func close(_ name: String) throws(CatalogProblem) {
        let tag = try readTag()
        guard tag.isClosing, tag.name == name else { throw source.problem(at: tag.offset, "expected </\(name)>") }
    }

    private mutating func readValue(_ tag: Tag, depth: Int) throws(CatalogProblem) -> Property {
        guard depth < Property.maximumDepth else { throw source.problem(at: tag.offset, "nested too deeply") }
        guard !tag.isClosing else { throw source.problem(at: tag.offset, "expected a value, found </\(tag.name)>") }
        let content: Property.Content
        switch tag.name {
        case "dict", "array": content = try readContainer(tag, depth: depth)
        case "string": content = .string(try readText(tag))
        case "integer", "real", "date", "data", "true", "false":
            _ = try readText(tag)
            content = .other
        default: throw source.problem(at: tag.offset, "<\(tag.name)> is not a property list value")
        }
        return Property(content: content, offset: tag.offset)
    }

    private mutating func readContainer(_ tag: Tag, depth: Int) throws(CatalogProblem) -> Property.Content {
        let isDictionary = tag.name == "dict"
        var members: [(key: SourceString, value: Property)] = []
        while !tag.isEmpty {
            let child = try readTag()
            if child.isClosing {
                guard child.name == tag.name else {
                    throw source.problem(at: tag.offset, "the container is closed by the wrong tag")
                }
                break
            }
            guard isDictionary else {
                _ = try readValue(child, depth: depth + 1)
                continue
            }
            guard child.name == "key" else { throw source.problem(at: child.offset, "expected <key>") }
            let key = SourceString(bytes: try readText(child), offset: child.offset)
            members.append((key, try readValue(try readTag(), depth: depth + 1)))
        }
        return isDictionary ? .dictionary(members) : .other
    }

    private mutating func readText(_ tag: Tag) throws(CatalogProblem) -> ArraySlice<UInt8> {
        guard !tag.isEmpty else { return [] }
        var text: [UInt8] = []
        while let byte = next {
            if byte == UInt8(ascii: "&") {
                text += try readEntity().utf8
            } else if byte != UInt8(ascii: "<") {
                text.append(byte)
                at += 1
            } else if skip("<![CDATA[") {
                let start = at
                while !skip("]]>") {
                    guard let byte = next else {
                        throw source.problem(at: start, "the CDATA section is not terminated")
                    }
                    text.append(byte)
                    at += 1
                }
            } else if !(try skipComment()) {
                try close(tag.name)
                return text[...]
            }
        }
        throw source.problem(at: tag.offset, "the element is not closed")
    }

    private mutating func readEntity() throws(CatalogProblem) -> Unicode.Scalar {
        let start = at
        // The longest is &#1114111;
        guard let end = source.bytes[at...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else {
            throw source.problem(at: start, "& begins an entity; write &amp;")
        }
        let name = String(decoding: source.bytes[start + 1..<end], as: UTF8.self)
        at = end + 1
        let code =
            name.hasPrefix("#x")
            ? UInt32(name.dropFirst(2), radix: 16) : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
        // A number has no sign, and U+0000 is not allowed.
        guard !name.contains(where: { "+-".contains($0) }), code != 0,
            let scalar = Self.entities[name] ?? code.flatMap(Unicode.Scalar.init)
        else {
            throw source.problem(at: start, "unknown entity &\(name);")
        }
        return scalar
    }

    private static let entities: [String: Unicode.Scalar] = [
        "lt": "<", "gt": ">", "amp": "&", "quot": "\"", "apos": "'",
    ]

    /// Reads the next tag, before which only what `skipMisc` skips may come.
    private mutating func readTag() throws(CatalogProblem) -> Tag {
        try skipMisc()
        let start = at
        guard next == UInt8(ascii: "<") else {
            throw source.problem(at: at, next == nil ? "expected a tag, but the file ends" : "expected a tag")
        }
        at += 1
        let isClosing = skip("/")
        let rest = source.bytes[at...]
        guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else {
            throw source.problem(at: start, "the tag is not terminated")
        }
        at = end + 1
        let content = rest[..<end]
        let name = content.prefix { $0 > 0x20 && $0 != UInt8(ascii: "/") }
        return Tag(
            name: String(decoding: name, as: UTF8.self), offset: start, isClosing: isClosing,
            isEmpty: content.last == UInt8(ascii: "/"))
    }

    /// Skips white space, comments, the XML declaration and the document type.
    private mutating func skipMisc() throws(CatalogProblem) {
        while let byte = next {
            if byte <= 0x20 {
                at += 1
            } else if source.bytes[at...].starts(with: "<?".utf8) {
                try skip(to: "?>")
            } else if source.bytes[at...].starts(with: "<!DOCTYPE".utf8) {
                try skip(to: ">")
            } else if !(try skipComment()) {
                return
            }
        }
    }

    private mutating func skipComment() throws(CatalogProblem) -> Bool {
        guard source.bytes[at...].starts(with: "<!--".utf8) else { return false }
        try skip(to: "-->")
        return true
    }

    private mutating func skip(_ text: String) -> Bool {
        guard source.bytes[at...].starts(with: text.utf8) else { return false }
        at += text.utf8.count
        return true
    }

    private mutating func skip(to end: String) throws(CatalogProblem) {
        let start = at
        while !skip(end) {
            guard next != nil else { throw source.problem(at: start, "the file ends before \(end)") }
            at += 1
        }
    }
}
