struct FormatPrograms {
    /// What is literal in the formats, and the keys.
    private(set) var text: [UInt8] = []
    private(set) var pieces: [FormatPiece] = []
    /// Where programs start, six to a plural, by category; `absent` for a form that is not there.
    private(set) var choices: [UInt32] = []

    static let absent = UInt32.max

    /// Gives the start of the text added.
    mutating func append(_ bytes: some Collection<UInt8>) -> UInt32 {
        let start = UInt32(text.count)
        text.append(contentsOf: bytes)
        return start
    }

    /// Gives the program's start.
    mutating func append(program: [FormatPiece]) -> UInt32 {
        let start = UInt32(pieces.count)
        pieces += program
        pieces.append(FormatPiece(kind: .end))
        return start
    }

    /// Gives the start of the six choices added.
    mutating func append(choices forms: [UInt32]) -> UInt32 {
        let start = UInt32(choices.count)
        choices += forms
        return start
    }

    /// Gives back what growing has set aside.
    mutating func trim() {
        text = text.withUnsafeBufferPointer { Array($0) }
        pieces = pieces.withUnsafeBufferPointer { Array($0) }
        choices = choices.withUnsafeBufferPointer { Array($0) }
    }

    /// The pieces of a program and of all that it chooses among.
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
        /// An argument as it is.
        case text
        case integer
        case float
        /// Another program, chosen by an argument: of the six from `start` in the table's choices.
        case plural
        /// A specifier that no push can serve: the translation is for the device.
        case unservable
    }

    let kind: Kind
    /// From 0.
    var argument: UInt8 = 0
    var layout = FormatLayout()
    var start: UInt32 = 0
    var count: UInt32 = 0
}
