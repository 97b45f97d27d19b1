/// How far a command has come, on a terminal's last line; nothing where nobody looks.
struct Progress {
    private static let width = 30

    private let show: (@Sendable (String) -> Void)?
    /// How many records there are, where that is known.
    private let total: Int?

    init(_ console: Console, total: Int?) {
        show = console.status
        self.total = total
    }

    func show(_ count: Int) {
        guard let total, total > 0 else { return show?("\(count) records") ?? () }
        let done = min(count, total)
        let bar = String(repeating: "#", count: Self.width * done / total)
        let rest = String(repeating: " ", count: Self.width - bar.count)
        show?("[\(bar)\(rest)] \(100 * done / total)%  \(count) records")
    }

    func clear() { show?("") }
}
