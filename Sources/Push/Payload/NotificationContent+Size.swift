/// What is done with a payload that has become too large.
extension NotificationContent {
    /// Shortens the longest of body, subtitle and title, at the end of a character and with "…", until the payload takes
    /// at most `limit` bytes; where that one is not enough, the next longest too. False, and nothing changed, if even
    /// that cannot help.
    public mutating func shorten(toFit limit: Int) -> Bool {
        let mark = mark()
        var texts: [AlertText] = [.body, .subtitle, .title]
        while renderedByteCount > limit {
            guard let longest = texts.max(by: { size(of: $0) < size(of: $1) }) else {
                rollback(to: mark)
                return false
            }
            texts.removeAll { $0 == longest }
            if let node = node(of: longest) { shorten(node, by: renderedByteCount - limit) }
        }
        return true
    }

    private func size(of text: AlertText) -> Int {
        node(of: text).map { document.kind(of: $0) == .string ? document.renderedByteCount(of: $0) : 0 } ?? 0
    }

    private mutating func shorten(_ node: JSONNode, by excess: Int) {
        guard let text = document.string(of: node) else { return }
        let size = document.renderedByteCount(of: node)
        let quotes = 2
        // Escapes that nobody needs may have taken what was too much.
        var shortened = text
        if quotes + JSONText.escapedCount(text.utf8) > size - excess {
            shortened = Self.prefix(of: text, takingAtMost: size - excess - quotes)
        }
        guard quotes + JSONText.escapedCount(shortened.utf8) < size else { return }
        document.replace(node, by: document.append(shortened))
    }

    private static func prefix(of text: String, takingAtMost limit: Int) -> String {
        let ellipsis = "…"
        var count = ellipsis.utf8.count
        var end = text.startIndex
        while end < text.endIndex {
            let next = text.index(after: end)
            count += JSONText.escapedCount(text[end..<next].utf8)
            if count > limit { break }
            end = next
        }
        return text[..<end] + ellipsis
    }
}
