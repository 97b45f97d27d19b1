package import PushmillKafka
package import PushmillPayload
package import PushmillStores

/// A file with the findings of a replay.
package protocol ReplayReport: AnyObject {
    /// Adds a record that differs from the baseline. Called in the order of the input.
    func add(_ change: RecordChange) throws(ReplayError)

    /// Completes the file. Called once, after the last change.
    func finish(_ summary: ReplaySummary) throws(ReplayError)
}

/// A capture or a report that is being written. The file before it stays until the new one is complete.
package final class ReportFile {
    private var file: OutputFile?

    package init(path: String) throws(ReplayError) {
        file = try filed { () throws(FileFailure) in try OutputFile(path: path) }
    }

    package func write(_ bytes: [UInt8]) throws(ReplayError) {
        do throws(FileFailure) { try file?.write(bytes) } catch { throw .unwritten(error) }
    }

    func write(_ text: String) throws(ReplayError) { try write(Array(text.utf8)) }

    package func close() throws(ReplayError) {
        guard let file = file.take() else { return }
        do throws(FileFailure) { try file.close() } catch { throw .unwritten(error) }
    }
}

/// A replay's findings for a terminal.
package enum SummaryText {
    /// Fields beyond this are only counted.
    private static let fields = 40

    package static func of(_ summary: ReplaySummary) -> String {
        var lines = [totals(summary)]
        let outcomes = summary.outcomes.sorted { $0.key < $1.key }.map { (name: shown($0.key), counts: $0.value) }
        let width = outcomes.map { $0.name.count }.max() ?? 0
        for (name, counts) in outcomes {
            let change = counts.before == counts.after ? "" : " (was \(counts.before))"
            lines.append("  \(name.padded(to: width))  \(counts.after)\(change)")
        }
        for field in summary.fields.prefix(fields) {
            lines += ["", "\(shown(field.name)) changed in \(field.count) of \(summary.records)"]
            for example in field.examples {
                lines.append("  \(shown(example.source))")
                lines.append("    - \(shown(example.change.before))")
                lines.append("    + \(shown(example.change.after))")
            }
        }
        if summary.fields.count > fields { lines += ["", "and \(summary.fields.count - fields) more fields"] }
        return lines.joined(separator: "\n")
    }

    private static func totals(_ summary: ReplaySummary) -> String {
        var parts = ["\(summary.same) the same", "\(summary.changed) changed"]
        if summary.new > 0 { parts.append("\(summary.new) new") }
        if summary.missing > 0 { parts.append("\(summary.missing) missing") }
        return "\(summary.records) records: \(parts.joined(separator: ", "))"
    }

    /// The beginning of a value, on one line.
    package static func shown(_ value: String?) -> String {
        guard let value else { return "(none)" }
        let start = value.unicodeScalars.prefix(200)
        return String(start).visible() + (start.endIndex < value.unicodeScalars.endIndex ? "…" : "")
    }
}

/// Why a capture, a replay or a redrive cannot go on.
package enum ReplayError: Error, Equatable {
    /// Input that makes no sense; the line, from 1, if the input has lines.
    case unreadable(name: String, line: Int? = nil, what: String)
    case file(FileFailure)
    /// A file that was opened cannot be written.
    case unwritten(FileFailure)
    case kafka(doing: String, KafkaError)
    case index(StoreError)
}

extension ReplayError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreadable(let name, nil, let what): "\(name): \(what)"
        case .unreadable(let name, .some(let line), let what): "\(name): line \(line): \(what)"
        case .file(let failure), .unwritten(let failure): "\(failure)"
        case .kafka(let doing, let error) where error.isUnknownTopic:
            "\(doing): \(error): create it, or correct its name"
        case .kafka(let doing, let error) where error.isForbidden:
            "\(doing): \(error): correct the access list"
        case .kafka(let doing, let error): "\(doing): \(error)"
        case .index(let error): "\(error)"
        }
    }
}

/// Turns an error of the stores into one of a replay.
func indexed<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(ReplayError) -> Result {
    do throws(StoreError) { return try body() } catch { throw .index(error) }
}

func filed<Result: ~Copyable>(_ body: () throws(FileFailure) -> Result) throws(ReplayError) -> Result {
    do throws(FileFailure) { return try body() } catch { throw .file(error) }
}

func asked<Result: ~Copyable>(
    _ doing: String, _ body: () throws(KafkaError) -> Result
) throws(ReplayError) -> Result {
    do throws(KafkaError) { return try body() } catch { throw .kafka(doing: doing, error) }
}

/// Which changes a long report includes: the first ones, and beyond those the first of each kind, so that none is hidden
/// behind another.
struct IncludedChanges {
    private static let ofKind = 20
    private static let kinds = 100

    let most: Int
    private(set) var count = 0
    /// How many of the first kinds were included, by their names.
    private var known: [String: Int] = [:]

    init(most: Int) { self.most = most }

    mutating func includes(_ group: String) -> Bool {
        let before = known[group] ?? (known.count < Self.kinds ? 0 : Self.ofKind)
        guard count < most || before < Self.ofKind else { return false }
        if known[group] != nil || known.count < Self.kinds { known[group] = before + 1 }
        count += 1
        return true
    }
}
