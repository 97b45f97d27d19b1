import FoundationEssentials

/// A whole replay as one JSON object: `differences`, one per line, then `summary`.
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
        try file.write(summary.json)
        try file.write("}\n")
        try file.close()
    }
}

extension Encodable {
    /// Members that are nil are omitted.
    package var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { Array($0) } ?? Array("null".utf8)
    }
}
