/// One self-contained page: totals, and every difference as a lock screen would show it before and after. The contents
/// of records are only data to the page, and its script shows them only as text.
package final class HTMLReport: ReplayReport {
    private static let chunk = 500

    private let file: ReportFile
    private var changes: [UInt8] = []
    /// A page with more would not work well; further differences are only counted.
    private var included = IncludedChanges(most: 50_000)

    package init(path: String) throws(ReplayError) {
        file = try ReportFile(path: path)
        try file.write(ReportPage.head)
    }

    package func add(_ change: RecordChange) throws(ReplayError) {
        guard included.includes(change.group) else { return }
        if !changes.isEmpty { changes.append(UInt8(ascii: ",")) }
        changes += change.json
        if included.count.isMultiple(of: Self.chunk) { try flush() }
    }

    package func finish(_ summary: ReplaySummary) throws(ReplayError) {
        try flush()
        var summary = summary
        summary.shown = included.count
        try write(summary.json, "id=\"summary\"")
        try file.write(ReportPage.foot)
        try file.close()
    }

    private func flush() throws(ReplayError) {
        guard !changes.isEmpty else { return }
        try write([UInt8(ascii: "[")] + changes + [UInt8(ascii: "]")], "class=\"changes\"")
        changes.removeAll(keepingCapacity: true)
    }

    /// JSON in a script ends at the first `</script`, wherever it occurs: every `<` is escaped.
    private func write(_ json: [UInt8], _ attribute: String) throws(ReplayError) {
        var text = Array("<script type=\"application/json\" \(attribute)>".utf8)
        for byte in json {
            if byte == UInt8(ascii: "<") { text += Array("\\u003c".utf8) } else { text.append(byte) }
        }
        text += Array("</script>\n".utf8)
        try file.write(text)
    }
}

/// The page before and after the data. Its parts are the files next to this one.
///
/// Its policy lets nothing be loaded, and no script run but its own: not one in a record either, should it ever become
/// markup.
enum ReportPage {
    static let head = pieces[0]
    static let foot = pieces[1]

    private static let pieces: [String] = {
        let script = [PackageResources.difference_js, PackageResources.cards_js, PackageResources.list_js]
        return text(PackageResources.report_html)
            .replacing("@style@", with: text(PackageResources.report_css))
            .replacing("@script@", with: script.map(text).joined(separator: "\n"))
            .split(separator: "@records@", maxSplits: 1)
            .map(String.init)
    }()

    private static func text(_ resource: [UInt8]) -> String { String(decoding: resource, as: UTF8.self) }
}
