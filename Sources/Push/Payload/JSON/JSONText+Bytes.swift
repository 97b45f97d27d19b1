extension [UInt8] {
    /// Appends the text as a JSON string, quotes included.
    package mutating func append(quoted text: String) {
        var text = text
        text.withUTF8 { JSONText.appendQuoted($0, to: &self) }
    }
}
