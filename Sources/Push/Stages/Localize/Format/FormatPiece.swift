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
