/// The text of an answer to a scrape, family by family.
package struct Exposition {
    package enum Format: Sendable, CaseIterable {
        /// Prometheus text 0.0.4.
        case prometheus
        /// OpenMetrics 1.0.0.
        case openMetrics

        package var contentType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    private let format: Format
    private var text: [UInt8] = []
    /// The sample name of the family that was begun last.
    private var name = ""

    package init(_ format: Format) {
        self.format = format
        text.reserveCapacity(1 << 16)
    }

    /// Begins a family; its samples follow.
    package mutating func begin(_ family: MetricDescription) {
        name = family.name
        var title = name
        // In OpenMetrics `_total` belongs to the sample, not to the family.
        if format == .openMetrics && family.kind == .counter && title.hasSuffix("_total") { title.removeLast(6) }
        let help = family.help.escaped(quotes: format == .openMetrics)
        text += "# HELP \(title) \(help)\n# TYPE \(title) \(family.kind.rawValue)\n".utf8
    }

    package mutating func sample(labels: String, _ value: Int) {
        sample(labels: labels, text: value.description)
    }

    package mutating func sample(labels: String, _ value: Double) {
        let text = value.isNaN ? "NaN" : value == .infinity ? "+Inf" : value == -.infinity ? "-Inf" : value.description
        sample(labels: labels, text: text)
    }

    /// The lines of one histogram: `bounds` are labels, one for each of `counts`, which are cumulative.
    mutating func histogram(
        labels: String, bounds: [String], counts: [Int], sum: Double, exemplar: (Int) -> Exemplar?
    ) {
        for (index, count) in counts.enumerated() {
            sample(
                suffix: "_bucket", labels: labels, bound: bounds[index], text: count.description,
                exemplar: format == .openMetrics ? exemplar(index) : nil)
        }
        sample(suffix: "_sum", labels: labels, text: sum.description)
        sample(suffix: "_count", labels: labels, text: (counts.last ?? 0).description)
    }

    package consuming func finished() -> [UInt8] {
        if format == .openMetrics { text += "# EOF\n".utf8 }
        return text
    }

    /// Appends piece by piece, because an answer has thousands of lines.
    private mutating func sample(
        suffix: String = "", labels: String, bound: String = "", text value: String, exemplar: Exemplar? = nil
    ) {
        text += name.utf8
        text += suffix.utf8
        if !labels.isEmpty || !bound.isEmpty {
            text.append(UInt8(ascii: "{"))
            text += labels.utf8
            if !labels.isEmpty && !bound.isEmpty { text.append(UInt8(ascii: ",")) }
            text += bound.utf8
            text.append(UInt8(ascii: "}"))
        }
        text.append(UInt8(ascii: " "))
        text += value.utf8
        if let exemplar {
            let value = Double(exemplar.nanoseconds) / 1e9
            let milliseconds = exemplar.time / 1_000_000
            text += " # {trace_id=\"\(exemplar.trace)\"} \(value) \(Double(milliseconds) / 1e3)".utf8
        }
        text.append(UInt8(ascii: "\n"))
    }
}

extension String {
    /// Escaped for a help line or for a label's quoted value.
    func escaped(quotes: Bool) -> String {
        var escaped = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
