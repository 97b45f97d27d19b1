/// The findings of a replay, in numbers and examples.
package struct ReplaySummary: Sendable, Encodable {
    package struct Field: Sendable, Encodable {
        private enum CodingKeys: String, CodingKey { case name = "field", count }

        package let name: String
        package fileprivate(set) var count = 0
        /// The first ones, in the order of the input.
        package fileprivate(set) var examples: [(source: String, change: FieldChange)] = []
    }

    /// How often the baseline had an outcome, and how often the candidate had it.
    package struct OutcomeCounts: Sendable, Encodable {
        package fileprivate(set) var before = 0
        package fileprivate(set) var after = 0
    }

    private static let examples = 3
    /// Payloads may use identifiers as names of members.
    private static let fields = 10_000
    private static let others = "(further fields)"

    /// Records of the input that were compared.
    package private(set) var records = 0
    package private(set) var same = 0
    package private(set) var changed = 0
    package private(set) var new = 0
    package private(set) var missing = 0
    package private(set) var outcomes: [String: OutcomeCounts] = [:]
    private var fieldsByName = FieldsByName()
    /// How many differences the page contains.
    var shown: Int?

    package var isSame: Bool { changed == 0 && new == 0 && missing == 0 }

    /// The most frequent first.
    package var fields: [Field] { fieldsByName.sorted }

    private enum CodingKeys: String, CodingKey {
        case records, same, changed, new, missing, outcomes, fieldsByName = "fields", shown
    }

    /// Encoded in the order of reports.
    private struct FieldsByName: Encodable {
        var all: [String: Field] = [:]

        var sorted: [Field] { all.values.sorted { ($1.count, $0.name) < ($0.count, $1.name) } }

        func encode(to encoder: any Encoder) throws { try sorted.encode(to: encoder) }
    }

    mutating func add(_ replayed: ReplayLane.Replayed) {
        records += 1
        if let before = replayed.before { outcomes[before, default: OutcomeCounts()].before += 1 }
        if let after = replayed.after { outcomes[after, default: OutcomeCounts()].after += 1 }
        if let change = replayed.change { count(change) } else { same += 1 }
    }

    /// An output of the baseline for which there was no input.
    mutating func add(left change: RecordChange) {
        if let before = change.before { outcomes[before.outcome, default: OutcomeCounts()].before += 1 }
        count(change)
    }

    private mutating func count(_ change: RecordChange) {
        switch change.kind {
        case .changed: changed += 1
        case .new: new += 1
        case .missing: missing += 1
        }
        for field in change.fields {
            let isKnown = fieldsByName.all[field.field] != nil || fieldsByName.all.count < Self.fields
            let name = isKnown ? field.field : Self.others
            var entry = fieldsByName.all[name] ?? Field(name: name)
            entry.count += 1
            if entry.examples.count < Self.examples {
                entry.examples.append((change.source, field))
            }
            fieldsByName.all[name] = entry
        }
    }
}
