/// The lines of the input as they come, without their ends.
struct InputLines {
    private let console: Console
    private var rest: ArraySlice<UInt8> = []
    private var isOver = false
    /// Of the line given last; from 1.
    private(set) var number = 0

    init(_ console: Console) { self.console = console }

    /// Nil at the end of the input.
    mutating func next() throws(ProgramError) -> [UInt8]? {
        var searched = rest.startIndex
        while true {
            if let end = rest[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                number += 1
                defer { rest = rest[(end + 1)...] }
                return Array(rest[..<end])
            }
            guard !isOver else { break }
            let chunk = try console.input()
            isOver = chunk.isEmpty
            rest = ArraySlice(Array(rest) + chunk)
            searched = rest.endIndex - chunk.count
        }
        guard !rest.isEmpty else { return nil }
        number += 1
        defer { rest = [] }
        return Array(rest)
    }
}
