/// An argument of a localization, as UTF-8: a number is one by how it is spelled, in quotes or not.
struct FormatArgument {
    /// The highest position.
    static let maximumCount = 32

    let bytes: UnsafeBufferPointer<UInt8>

    /// The argument as a number; nil if it is none.
    var number: FormatNumber? { FormatNumber(bytes) }
}
