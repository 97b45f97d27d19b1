/// For tables and numbers of one width.
extension String {
    /// As wide at least, with spaces behind it.
    package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// As wide at least, with others before it.
    package func aligned(to width: Int, by filler: Character = " ") -> String {
        String(repeating: filler, count: max(0, width - count)) + self
    }
}
