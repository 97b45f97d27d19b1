/// Which part of the whole a body is, as `Content-Range` has it.
struct ContentRange {
    let first: Int
    let last: Int
    /// How long the whole is; nil where the server does not know.
    let whole: Int?

    /// Nil for what names no part.
    init?(_ text: String) {
        guard text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst("bytes ".count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last else { return nil }
        self.first = first
        self.last = last
        whole = Int(parts[1])
    }

    /// Whether so many bytes from the beginning are the whole, with this as its end.
    func completes(_ count: Int) -> Bool { count == whole && last == count - 1 }
}
