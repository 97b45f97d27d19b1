/// How the events ended, and how long they were on their way.
struct DemoSummary: Sendable {
    private struct Row {
        let outcome: String
        var times: [Duration] = []
        var reasons: [String: Int] = [:]
    }

    private var rows: [Row] = []
    /// Events that have been sent.
    var sent = 0

    var count: Int { rows.reduce(0) { $0 + $1.times.count } }

    /// `time` is from sending the event to reading its result.
    mutating func add(_ result: DemoResult, time: Duration) {
        let index = rows.firstIndex { $0.outcome == result.outcome } ?? rows.count
        if index == rows.count { rows.append(Row(outcome: result.outcome)) }
        rows[index].times.append(time)
        if result.outcome == "dead-letter" { rows[index].reasons[result.stages, default: 0] += 1 }
    }

    var text: String {
        var lines = [
            "", "\("outcome".padded(to: 14))\(right("events", 8))\(right("median", 10))\(right("slowest", 10))",
        ]
        for row in rows.sorted(by: { $0.times.count > $1.times.count }) {
            let times = row.times.sorted()
            guard let slowest = times.last else { continue }
            let reasons = row.reasons.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            lines.append(
                row.outcome.padded(to: 14) + right("\(times.count)", 8)
                    + right(milliseconds(times[times.count / 2]), 10) + right(milliseconds(slowest), 10)
                    + (reasons.isEmpty ? "" : "   \(reasons.joined(separator: ", "))"))
        }
        lines.append("\("all".padded(to: 14))\(right("\(count)", 8))")
        if count < sent { lines.append("\(sent - count) of \(sent) events have not come out (yet).") }
        return lines.joined(separator: "\n")
    }

    private func milliseconds(_ time: Duration) -> String { "\(Int(time / .milliseconds(1))) ms" }

    private func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
