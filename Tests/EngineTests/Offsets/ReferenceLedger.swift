import PushmillEngine

/// A ledger that is obviously right: it uses sets, and walks them for each question.
struct ReferenceLedger {
    private(set) var position: Int64
    private(set) var inFlight: Set<Int64> = []
    private var done: Set<Int64>
    private var end: Int64
    private let seededEnd: Int64
    private let limit: Int64

    init(startingAt position: Int64, completed: [Range<Int64>], limit: Int64) {
        self.position = position
        self.limit = limit
        end = position
        done = Set(completed.flatMap { $0 })
        seededEnd = completed.last?.upperBound ?? position
        moveUp()
    }

    var known: Int64 { max(end, seededEnd) }

    mutating func take(_ offset: Int64) -> OffsetLedger.Taking {
        guard offset >= end else { return .duplicate }
        let isFarAway = offset - position / 64 * 64 >= limit
        if isFarAway, !inFlight.isEmpty || offset < seededEnd { return .full }
        for gap in end..<offset { done.insert(gap) }
        end = offset + 1
        let isDone = isCompleted(offset)
        if !isDone { inFlight.insert(offset) }
        moveUp()
        return isDone ? .completed : .taken
    }

    mutating func complete(_ offset: Int64) -> Bool {
        guard inFlight.remove(offset) != nil else { return false }
        done.insert(offset)
        moveUp()
        return true
    }

    func isCompleted(_ offset: Int64) -> Bool { offset < position || done.contains(offset) }

    var completedBeyond: [Range<Int64>] {
        var runs: [Range<Int64>] = []
        for offset in position..<known where done.contains(offset) {
            if let last = runs.last, last.upperBound == offset {
                runs[runs.count - 1] = last.lowerBound..<offset + 1
            } else {
                runs.append(offset..<offset + 1)
            }
        }
        return runs
    }

    private mutating func moveUp() {
        while done.remove(position) != nil { position += 1 }
    }
}
