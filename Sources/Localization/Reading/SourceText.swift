/// A catalog file converted to UTF-8, which can tell the line and column of a byte.
struct SourceText {
    let file: String
    /// Valid UTF-8 without a byte order mark, except in a binary property list.
    let bytes: [UInt8]
    /// The counts before each piece. The file is counted once, since it may have a problem in each line.
    private let counts: [LineCount]

    /// Reads UTF-8, or UTF-16 recognized by its byte order mark or by the zero byte beside the first character.
    init(file: String, contents: [UInt8]) throws(CatalogProblem) {
        self.file = file
        let isSound: Bool
        switch (contents.first, contents.dropFirst().first) {
        case (0xFE, 0xFF): (bytes, isSound) = Self.utf8(fromUTF16: contents.dropFirst(2), isBigEndian: true)
        case (0xFF, 0xFE): (bytes, isSound) = Self.utf8(fromUTF16: contents.dropFirst(2), isBigEndian: false)
        case (0, .some): (bytes, isSound) = Self.utf8(fromUTF16: contents[...], isBigEndian: true)
        case (.some, 0): (bytes, isSound) = Self.utf8(fromUTF16: contents[...], isBigEndian: false)
        default:
            bytes = contents.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(contents.dropFirst(3)) : contents
            isSound = true
        }
        guard bytes.count < UInt32.max / 2 else { throw CatalogProblem(file: file, message: "the file is too large") }
        counts = LineCount.counts(of: bytes)
        guard isSound else {
            throw problem(at: bytes.count, "the UTF-16 text is truncated here, or has half a surrogate pair")
        }
        guard !isBinary else { return }
        do {
            _ = try UTF8Span(validating: bytes.span)
        } catch {
            throw problem(at: error.byteOffsets.lowerBound, "the text is neither UTF-8 nor UTF-16")
        }
    }

    /// True for a binary property list, which has no lines.
    var isBinary: Bool { bytes.starts(with: "bplist".utf8) }

    func problem(at offset: Int, _ message: String) -> CatalogProblem {
        guard !isBinary else { return CatalogProblem(file: file, message: message) }
        let offset = min(offset, bytes.count)
        let piece = offset / LineCount.step
        let count = counts[piece].counting(bytes[piece * LineCount.step..<offset])
        return CatalogProblem(file: file, line: count.line, column: count.column, message: message)
    }

    /// Converts the text as far as it is sound.
    private static func utf8(
        fromUTF16 encoded: ArraySlice<UInt8>, isBigEndian: Bool
    ) -> (text: [UInt8], isSound: Bool) {
        let units = stride(from: encoded.startIndex, to: encoded.endIndex - 1, by: 2).lazy.map { index in
            let (first, second) = (UInt16(encoded[index]), UInt16(encoded[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        var text: [UInt8] = []
        text.reserveCapacity(encoded.count)
        let isBroken = transcode(units.makeIterator(), from: UTF16.self, to: UTF8.self, stoppingOnError: true) {
            text.append($0)
        }
        return (text, !isBroken && encoded.count.isMultiple(of: 2))
    }
}

/// Lines and columns counted up to a place in a text.
private struct LineCount {
    /// The number of bytes between kept counts.
    static let step = 4096

    private(set) var line = 1
    private(set) var column = 1
    private var previous: UInt8 = 0

    /// The counts before each piece of a text, and after the last whole one.
    static func counts(of text: [UInt8]) -> [LineCount] {
        stride(from: step, through: text.count, by: step).reduce(into: [LineCount()]) { counts, end in
            counts.append(counts[counts.count - 1].counting(text[end - step..<end]))
        }
    }

    /// LF, CR and CR LF each end a line.
    func counting(_ bytes: ArraySlice<UInt8>) -> LineCount {
        var count = self
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\n") where count.previous == UInt8(ascii: "\r"): break
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                count.line += 1
                count.column = 1
            case 0x80..<0xC0: break
            default: count.column += 1
            }
            count.previous = byte
        }
        return count
    }
}

/// An unescaped text from a catalog file, and its place there.
struct SourceString {
    let bytes: ArraySlice<UInt8>
    let offset: Int

    var string: String { String(decoding: bytes, as: UTF8.self) }

    static func == (left: SourceString, right: StaticString) -> Bool {
        left.bytes.elementsEqual(UnsafeBufferPointer(start: right.utf8Start, count: right.utf8CodeUnitCount))
    }
}
