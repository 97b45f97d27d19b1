/// The format that continuous integration systems read: a suite for each kind of change, a failed case for each record,
/// and one case for all that is the same.
package final class JUnitReport: ReplayReport {
    private struct Suite {
        var cases = ""
        var count = 0
        var hidden = 0
    }

    private let file: ReportFile
    private var suites: [String: Suite] = [:]
    /// More than anyone reads; further records are only counted.
    private var included = IncludedChanges(most: 1000)

    package init(path: String) throws(ReplayError) { file = try ReportFile(path: path) }

    package func add(_ change: RecordChange) {
        let isShown = included.includes(change.group)
        // Changes that are not shown get no kinds of their own either.
        let name = isShown || suites[change.group] != nil ? change.group : "further changes"
        var suite = suites[name] ?? Suite()
        if isShown {
            suite.count += 1
            suite.cases += Self.failure(name, change.source, Self.text(change))
        } else {
            suite.hidden += 1
        }
        suites[name] = suite
    }

    package func finish(_ summary: ReplaySummary) throws(ReplayError) {
        for (name, suite) in suites where suite.hidden > 0 {
            suites[name]?.count += 1
            suites[name]?.cases += Self.failure(name, "\(suite.hidden) further records", "")
        }
        let failures = suites.values.reduce(0) { $0 + $1.count }
        try file.write(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="pushmill replay" tests="\(failures + 1)" failures="\(failures)">
            <testsuite name="same" tests="1" failures="0">
            <testcase classname="same" name="\(summary.same) of \(summary.records) records"/>
            </testsuite>

            """)
        for (name, suite) in suites.sorted(by: { $0.key < $1.key }) {
            let counts = "tests=\"\(suite.count)\" failures=\"\(suite.count)\""
            try file.write("<testsuite name=\"\(Self.escaped(name))\" \(counts)>\n\(suite.cases)</testsuite>\n")
        }
        try file.write("</testsuites>\n")
        try file.close()
    }

    private static func failure(_ group: String, _ name: String, _ text: String) -> String {
        """
        <testcase classname="\(escaped(group))" name="\(escaped(name))">
        <failure message="\(escaped(group))">\(escaped(text))</failure>
        </testcase>

        """
    }

    private static func text(_ change: RecordChange) -> String {
        switch change.kind {
        case .changed:
            change.fields.map { "\($0.field)\n  before: \($0.before ?? "-")\n  after:  \($0.after ?? "-")" }
                .joined(separator: "\n")
        case .new: "the baseline has no such record"
        case .missing: "nothing is published for it"
        }
    }

    /// XML cannot represent most control characters.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\n", "\t": escaped.unicodeScalars.append(scalar)
            case "\u{0}"..<"\u{20}", "\u{7F}"..."\u{9F}", "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
