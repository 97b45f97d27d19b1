import FoundationEssentials

/// The whole of a replay as one JSON object: `differences`, one a line, then `summary`.
package final class JSONReport: ReplayReport {
    private let file: ReportFile
    private var isFirst = true

    package init(path: String) throws(ReplayError) {
        file = try ReportFile(path: path)
        try file.write("{\"differences\":[")
    }

    package func add(_ change: RecordChange) throws(ReplayError) {
        try file.write(isFirst ? "\n" : ",\n")
        isFirst = false
        try file.write(change.json)
    }

    package func finish(_ summary: ReplaySummary) throws(ReplayError) {
        try file.write("\n],\"summary\":")
        try file.write(ReplayTotals(summary).json)
        try file.write("}\n")
        try file.close()
    }
}

/// The numbers of a summary, as reports have them.
struct ReplayTotals: Encodable {
    struct Field: Encodable {
        let field: String
        let count: Int
    }

    let records: Int
    let same: Int
    let changed: Int
    let new: Int
    let missing: Int
    let outcomes: [String: ReplaySummary.OutcomeCounts]
    let fields: [Field]
    /// How many differences a page has.
    let shown: Int?

    init(_ summary: ReplaySummary, shown: Int? = nil) {
        records = summary.records
        same = summary.same
        changed = summary.changed
        new = summary.new
        missing = summary.missing
        outcomes = summary.outcomes
        fields = summary.fields.map { Field(field: $0.name, count: $0.count) }
        self.shown = shown
    }
}

extension Encodable {
    /// Nothing is written for nil.
    var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { Array($0) } ?? Array("null".utf8)
    }
}
