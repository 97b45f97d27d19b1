import PushmillPayload

/// The content of a commit's metadata: the committed offset and the completed ones above it.
///
/// The text is base64url throughout, at most `limit` characters, never empty: `PMv` and the version, then a checksum,
/// the base and, if anything is completed, a form and its data. In version 2 the form and its data are a part, preceded
/// by its kind and length; a reader skips a part of an unknown kind if the kind is even. A bitmap has one bit per
/// offset from base + 1 on. Run lengths are pairs (not done, done) in Exp-Golomb codes of two fitting orders: about 10
/// bits per hole if one offset in a hundred is a hole.
package struct OffsetMetadata: Equatable, Sendable {
    /// Brokers refuse more than 4,096 bytes unless configured otherwise.
    package static let limit = 4_095
    /// With the version after it, three bytes in base64url.
    static let mark = "PMv"
    static let completedPart: UInt64 = 1
    /// The most that the kind and the length of the part of completed offsets take.
    static let partHead = 3
    static let checksumSize = 4
    static let largestOrder = 40

    /// How the completed offsets are written.
    enum Form: UInt8 {
        case bitmap = 1
        case runs = 2
    }

    package enum Rejection: Error, Equatable, Sendable {
        /// Empty, or written by something else.
        case foreign
        /// Ours, but of a version that this release does not know.
        case version(Character)
        /// Ours, but with an unknown part that must not be skipped.
        case part(UInt64)
        case corrupt
        /// Ours, but written for an offset other than the committed one: someone set that on purpose.
        case otherBase(Int64)
    }

    package let base: Int64
    /// In ascending order, none empty, none touching the next, all above the base.
    package let completed: [Range<Int64>]

    package init(base: Int64, completed: [Range<Int64>]) {
        self.base = base
        self.completed = completed
    }

    /// FNV-1a, because a set that is wrong about one offset loses a message.
    static func checksum(of body: some Sequence<UInt8>) -> UInt32 {
        body.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 }
    }
}

extension OffsetMetadata.Rejection {
    /// The partition waits for an instance that can read it.
    var isOfNewerRelease: Bool {
        switch self {
        case .version, .part: true
        case .foreign, .corrupt, .otherBase: false
        }
    }

    package var explanation: String {
        switch self {
        case .foreign: "its metadata was not written by pushmill"
        case .part(let kind): "its metadata has a part that this release does not know: \(kind)"
        case .version(let version): "its metadata has version \(version), which this release does not know"
        case .corrupt: "its metadata is damaged"
        case .otherBase(let base): "its metadata was written for offset \(base)"
        }
    }
}

extension OffsetMetadata {
    /// Decodes the metadata of a commit of `offset`. Any text gives a set or a rejection. Allocations are bounded by
    /// the length of the text, whatever run lengths it claims.
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
        let runs: [Range<Int64>]? =
            switch Form(rawValue: byte) {
            case .bitmap: bitmap(from: &reader, base: base)
            case .runs: runLengths(from: &reader, base: base)
            case nil: nil
            }
        guard let runs, !runs.isEmpty, reader.isAtEnd else { throw .corrupt }
        return runs
    }

    private static func bitmap(from reader: inout ByteReader, base: Int64) -> [Range<Int64>]? {
        let bytes = reader.rest()
        guard let last = bytes.last, last != 0, base <= Int64.max - 1 - Int64(bytes.count) * 8 else { return nil }
        var runs: [Range<Int64>] = []
        for (index, byte) in bytes.enumerated() {
            for bit in 0..<8 where byte >> UInt8(bit) & 1 == 1 {
                let offset = base + 1 + Int64(index * 8 + bit)
                let start = runs.last?.upperBound == offset ? runs.removeLast().lowerBound : offset
                runs.append(start..<offset + 1)
            }
        }
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

/// Versions of the data that instances of a group write for each other: commit metadata and changelog records. One
/// release reads a new version and the next one writes it, so a group may be half of each. Newer data is neither read
/// nor skipped: its partition waits for an instance that knows the version.
package enum FormatVersion: UInt8, Sendable {
    case current = 1
    /// This release reads it; the next one writes it, and so does half of a group in tests.
    case next = 2
}
