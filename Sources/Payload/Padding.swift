/// For tables and numbers of fixed width.
extension String {
    /// Appends spaces up to `width` characters.
    package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// Prepends `filler` up to `width` characters.
    package func aligned(to width: Int, by filler: Character = " ") -> String {
        String(repeating: filler, count: max(0, width - count)) + self
    }
}
