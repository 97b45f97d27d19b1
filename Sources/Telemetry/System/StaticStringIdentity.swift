extension StaticString {
    /// The place of a literal in the program, which tells two of them apart without reading them.
    var identity: UInt { hasPointerRepresentation ? UInt(bitPattern: utf8Start) : UInt(unicodeScalar.value) }
}
