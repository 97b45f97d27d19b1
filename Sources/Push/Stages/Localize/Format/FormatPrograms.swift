/// The compiled formats of a table.
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

    /// The categories that have a form, for each plural in a program, inner ones included.
    func pluralForms(from program: UInt32) -> [Set<PluralCategory>] {
        pieces[Int(program)...].prefix { $0.kind != .end }.filter { $0.kind == .plural }.flatMap { piece in
            let starts = PluralCategory.allCases.map { choices[Int(piece.start) + Int($0.rawValue)] }
            let present = zip(PluralCategory.allCases, starts).filter { $0.1 != Self.absent }
            return [Set(present.map(\.0))] + present.flatMap { pluralForms(from: $0.1) }
        }
    }
}
