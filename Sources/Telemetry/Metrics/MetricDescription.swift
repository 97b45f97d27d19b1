/// What is known of a family before it has any series.
package struct MetricDescription: Sendable {
    package enum Kind: String, Sendable { case counter, gauge, histogram }

    package let name: String
    package let kind: Kind
    package let help: String
    package let labels: [FieldName]

    package init(_ kind: Kind, _ name: String, _ help: String, labels: [FieldName] = []) {
        precondition(kind != .counter || name.hasSuffix("_total"), "a counter's name ends in _total")
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }

    /// `stage="decrypt",result="ok"`: a value for each label.
    func labels(_ values: [String]) -> String {
        precondition(values.count == labels.count, "\(name) has other labels")
        return zip(labels, values).map { "\($0.text)=\"\($1.escapedLabel)\"" }.joined(separator: ",")
    }
}
