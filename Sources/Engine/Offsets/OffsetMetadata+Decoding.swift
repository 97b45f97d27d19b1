import PushmillStages

extension OffsetMetadata {
    /// Reads the metadata of a commit that names `offset`. Any text gives a set or a rejection; what it allocates is
    /// bounded by the length of the text, whatever run lengths it claims.
    package init(decoding text: String, committedAt offset: Int64) throws(Rejection) {
        let characters = text.utf8
        guard characters.starts(with: Self.mark.utf8) else { throw .foreign }
        guard let digit = text.dropFirst(Self.mark.count).first else { throw .corrupt }
        let number = digit.asciiValue.flatMap { $0 >= UInt8(ascii: "0") ? $0 - UInt8(ascii: "0") : nil }
        guard let version = number.flatMap(FormatVersion.init) else { throw .version(digit) }
        var bytes: [UInt8] = []
        guard characters.count <= Self.limit,
            Base64.decode(Array(characters.dropFirst(Self.mark.count + 1)).span, into: &bytes),
            bytes.count > Self.checksumSize
        else { throw .corrupt }
        let sum = bytes.prefix(Self.checksumSize).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let body = bytes.dropFirst(Self.checksumSize)
        guard sum == Self.checksum(of: body) else { throw .corrupt }
        var reader = ByteReader(body)
        guard let base = reader.varint().flatMap(Int64.init(exactly:)) else { throw .corrupt }
        guard base == offset else { throw .otherBase(base) }
        self.base = base
        completed =
            switch version {
            case .current: try Self.completed(from: &reader, base: base)
            case .next: try Self.parts(from: &reader, base: base)
            }
    }

    private static func parts(from reader: inout ByteReader, base: Int64) throws(Rejection) -> [Range<Int64>] {
        var completed: [Range<Int64>] = []
        while !reader.isAtEnd {
            guard let kind = reader.varint(), let bytes = reader.varint().flatMap({ reader.bytes($0) }) else {
                throw .corrupt
            }
            guard kind == completedPart else {
                guard kind.isMultiple(of: 2) else { throw .part(kind) }
                continue
            }
            var part = ByteReader(bytes)
            guard completed.isEmpty, !part.isAtEnd else { throw .corrupt }
            completed = try Self.completed(from: &part, base: base)
        }
        return completed
    }

    private static func completed(from reader: inout ByteReader, base: Int64) throws(Rejection) -> [Range<Int64>] {
        guard let byte = reader.byte() else { return [] }
        let runs: [Range<Int64>]?
        switch Form(rawValue: byte) {
        case .bitmap: runs = bitmap(from: &reader, base: base)
        case .runs: runs = runLengths(from: &reader, base: base)
        case nil: runs = nil
        }
        guard let runs, !runs.isEmpty, reader.isAtEnd else { throw .corrupt }
        return runs
    }

    private static func bitmap(from reader: inout ByteReader, base: Int64) -> [Range<Int64>]? {
        let bytes = reader.rest()
        guard let last = bytes.last, last != 0, base <= Int64.max - 1 - Int64(bytes.count) * 8 else { return nil }
        var runs: [Range<Int64>] = []
        var start: Int64?
        for (index, byte) in bytes.enumerated() {
            for bit in 0..<8 {
                let offset = base + 1 + Int64(index * 8 + bit)
                let isDone = byte >> UInt8(bit) & 1 == 1
                if isDone, start == nil { start = offset }
                guard !isDone, let from = start else { continue }
                runs.append(from..<offset)
                start = nil
            }
        }
        if let start { runs.append(start..<base + 1 + Int64(bytes.count) * 8) }
        return runs
    }

    private static func runLengths(from reader: inout ByteReader, base: Int64) -> [Range<Int64>]? {
        guard let missingOrder = reader.byte(), missingOrder <= largestOrder,
            let doneOrder = reader.byte(), doneOrder <= largestOrder, let count = reader.varint()
        else { return nil }
        var runs: [Range<Int64>] = []
        var at = base
        for _ in 0..<count {
            guard let start = next(after: at, order: missingOrder, from: &reader),
                let end = next(after: start, order: doneOrder, from: &reader)
            else { return nil }
            runs.append(start..<end)
            at = end
        }
        return reader.endBits() ? runs : nil
    }

    private static func next(after offset: Int64, order: UInt8, from reader: inout ByteReader) -> Int64? {
        guard let length = reader.expGolomb(order: Int(order)).flatMap(Int64.init(exactly:)) else { return nil }
        let (end, overflow) = offset.addingReportingOverflow(length)
        return overflow || end == .max ? nil : end + 1
    }
}
