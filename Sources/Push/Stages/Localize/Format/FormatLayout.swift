/// Flags, width and precision, as printf has them.
struct FormatLayout {
    var isLeft = false
    var hasZeros = false
    var sign = Sign.negativeOnly
    var width: UInt8 = 0
    var precision: UInt8?

    var fillsWithZeros: Bool { hasZeros && !isLeft }

    enum Sign: UInt8 { case negativeOnly, plus, space }
}
