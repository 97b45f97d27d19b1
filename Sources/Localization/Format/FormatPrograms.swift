struct FormatPrograms {
    /// The literal parts of the formats, and the keys.
    private(set) var text: [UInt8] = []
    private(set) var pieces: [FormatPiece] = []
    /// The starts of programs, six for each plural, by category; `absent` for a missing form.
    private(set) var choices: [UInt32] = []

    static let absent = UInt32.max

    /// Returns the start of the appended text.
    mutating func append(_ bytes: some Collection<UInt8>) -> UInt32 {
        let start = UInt32(text.count)
        text.append(contentsOf: bytes)
        return start
    }

    /// Returns the program's start.
    mutating func append(program: [FormatPiece]) -> UInt32 {
        let start = UInt32(pieces.count)
        pieces += program
        pieces.append(FormatPiece(kind: .end))
        return start
    }

    /// Returns the start of the six appended choices.
    mutating func append(choices forms: [UInt32]) -> UInt32 {
        let start = UInt32(choices.count)
        choices += forms
        return start
    }

    /// Releases unused capacity.
    mutating func trim() {
        text = text.withUnsafeBufferPointer { Array($0) }
        pieces = pieces.withUnsafeBufferPointer { Array($0) }
        choices = choices.withUnsafeBufferPointer { Array($0) }
    }

    /// The pieces of a program and of all its plural forms.
    func allPieces(from program: UInt32) -> [FormatPiece] {
        pieces[Int(program)...].prefix { $0.kind != .end }.flatMap { piece -> [FormatPiece] in
            guard piece.kind == .plural else { return [piece] }
            return [piece] + forms(of: piece).flatMap { allPieces(from: $0.program) }
        }
    }

    func forms(of plural: FormatPiece) -> [(category: PluralCategory, program: UInt32)] {
        PluralCategory.allCases.map { ($0, choices[Int(plural.start) + Int($0.rawValue)]) }
            .filter { $0.1 != Self.absent }
    }
}

/// One step of a compiled format. A program is a run of pieces up to an `end`.
struct FormatPiece {
    enum Kind: UInt8 {
        case end
        /// Bytes `start ..< start + count` of the table's text.
        case literal
        /// An argument as text.
        case text
        case integer
        case float
        /// Another program, chosen by an argument from the six that start at `start` in the table's choices.
        case plural
        /// A specifier that no push can serve: the translation is left to the device.
        case unservable
    }

    let kind: Kind
    /// From 0.
    var argument: UInt8 = 0
    var layout = FormatLayout()
    var start: UInt32 = 0
    var count: UInt32 = 0
}
