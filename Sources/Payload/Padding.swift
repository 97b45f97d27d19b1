/// For tables and numbers of fixed width, and for the words of others on a terminal.
extension String {
    /// Appends spaces up to `width` characters.
    package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// Prepends `filler` up to `width` characters.
    package func aligned(to width: Int, by filler: Character = " ") -> String {
        String(repeating: filler, count: max(0, width - count)) + self
    }

    /// Escapes characters that would move a terminal's cursor, turn its text around or stay invisible there. Line ends
    /// and tabs stay if `keepsLines`. Joiners stay, since words and emoji are written with them.
    package func visible(keepsLines: Bool = false) -> String {
        unicodeScalars.reduce(into: "") { text, scalar in
            switch (scalar, scalar.properties.generalCategory) {
            case ("\n", _), ("\t", _):
                text += keepsLines ? String(scalar) : scalar == "\n" ? "\\n" : "\\t"
            case ("\u{200C}", _), ("\u{200D}", _): text.unicodeScalars.append(scalar)
            case (_, .control), (_, .format), (_, .lineSeparator), (_, .paragraphSeparator):
                text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}
