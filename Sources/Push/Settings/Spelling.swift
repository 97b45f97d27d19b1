/// Finds what somebody meant who mistyped a name.
package enum Spelling {
    /// The nearest of the candidates, if it is near enough to be worth a question.
    package static func nearest(to name: String, in candidates: some Sequence<String>) -> String? {
        let typed = Array(name.lowercased().unicodeScalars)
        let limit = max(1, typed.count / 3)
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let letters = Array(candidate.lowercased().unicodeScalars)
            let isBeginning = typed.count >= 3 && typed.count * 2 >= letters.count && letters.starts(with: typed)
            guard isBeginning || abs(letters.count - typed.count) <= limit else { continue }
            let distance = isBeginning ? limit : distance(typed, letters)
            if distance <= limit, distance < typed.count, distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.candidate
    }

    /// `; did you mean "x"?`, or nothing.
    package static func question(_ name: String, _ candidates: some Sequence<String>) -> String {
        nearest(to: name, in: candidates).map { "; did you mean \"\($0)\"?" } ?? ""
    }

    /// Insertions, deletions, substitutions and swaps of neighbours that lead from one to the other.
    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var beforeLast = [Int](repeating: 0, count: right.count + 1)
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            current.reserveCapacity(right.count + 1)
            for column in right.indices {
                let same = left[row] == right[column]
                var cost = min(last[column + 1] + 1, current[column] + 1, last[column] + (same ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
