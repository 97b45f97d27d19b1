import PushmillPayload
import PushmillStages

/// A replay: runs recorded input through a candidate configuration and compares the outputs with a baseline.
package struct ReplayRun {
    package struct Settings: Sendable {
        /// How many lanes run at the same time. The findings do not depend on it.
        package var lanes = 1
        package var ignored = IgnoredFields([])
        package var filter = RecordFilter()

        package init() {}
    }

    /// Records in memory at once.
    private static let chunk = 8192

    private let source: any RecordSource
    private let baseline: Baseline?
    private let settings: Settings
    private let lanes: [ReplayLane]
    private let keepsLines: Bool

    /// Without a baseline nothing is compared. With `keepsLines`, every output goes to the `publish` of `run`.
    package init(
        _ source: any RecordSource, _ candidate: Candidate, baseline: Baseline?, keepsLines: Bool,
        settings: Settings = Settings()
    ) {
        self.source = source
        self.baseline = baseline
        self.settings = settings
        self.keepsLines = keepsLines
        let comparison = RecordComparison(ignored: settings.ignored)
        lanes = (0..<max(1, settings.lanes)).map { _ in
            ReplayLane(candidate, comparison, settings.filter, keepsLines: keepsLines)
        }
    }

    /// `report` gets every record that differs from the baseline and `publish` every output as a line, both in the
    /// order of the input; `progress` gets the number of records so far.
    package func run(
        report: (RecordChange) throws(ReplayError) -> Void, publish: ([UInt8]) throws(ReplayError) -> Void = { _ in },
        progress: (Int) -> Void = { _ in }
    ) async throws(ReplayError) -> ReplaySummary {
        var summary = ReplaySummary()
        var ranges = InputRanges()
        var matches = 0
        var total = 0
        var isAnyMeant = false
        var unmet = settings.filter
        while true {
            let inputs = try await source.next(Self.chunk)
            if inputs.isEmpty { break }
            for input in inputs { unmet.meet(input) }
            let (items, found) = try items(inputs, &ranges)
            matches += found
            for replayed in try await run(items) {
                if keepsLines { try publish(replayed.line) }
                if replayed.isMeant { isAnyMeant = true }
                guard replayed.isCompared, baseline != nil else { continue }
                summary.add(replayed)
                if let change = replayed.change { try report(change) }
            }
            total += inputs.count
            progress(total)
        }
        guard total > 0 else { throw .unreadable(name: source.name, what: "no records") }
        guard let baseline else { return summary }
        if matches == 0, baseline.count > 0 { throw mismatch(baseline) }
        try addLeft(of: baseline, ranges, to: &summary, report)
        // A mistyped key or category must not pass for one without changes.
        guard isAnyMeant && unmet.isMet || !summary.isSame else {
            throw .unreadable(name: source.name, what: "no record has the given key or category, or one of them")
        }
        return summary
    }

    private func items(
        _ inputs: [RecordEnvelope], _ ranges: inout InputRanges
    ) throws(ReplayError) -> (items: [[ReplayLane.Item]], matches: Int) {
        var items = [[ReplayLane.Item]](repeating: [], count: lanes.count)
        var matches = 0
        for (position, input) in inputs.enumerated() {
            ranges.add(input)
            let line = try baseline?.take(input)
            if line != nil { matches += 1 }
            // One lane gets all records of a recipient: counts depend on their order.
            let hash = input.recipient?.withUnsafeBytes(ByteHash.hash) ?? UInt64(position)
            let lane = Int(hash % UInt64(lanes.count))
            items[lane].append(ReplayLane.Item(position: position, input: input, baseline: line))
        }
        return (items, matches)
    }

    private func run(_ items: [[ReplayLane.Item]]) async throws(ReplayError) -> [ReplayLane.Replayed] {
        let parts = try await concurrently(Array(zip(lanes, items))) { lane, items throws(ReplayError) in
            try await lane.run(items)
        }
        return parts.joined().sorted { $0.position < $1.position }
    }

    private func addLeft(
        of baseline: Baseline, _ ranges: InputRanges, to summary: inout ReplaySummary,
        _ report: (RecordChange) throws(ReplayError) -> Void
    ) throws(ReplayError) {
        try baseline.forEachLeft(within: ranges, of: source) { output throws(ReplayError) in
            guard settings.filter.admits(output),
                settings.filter.admits(outcomes: output.text("pushmill-outcome"), nil)
            else { return }
            let change = RecordChange(
                kind: .missing, source: output.place, before: RecordSide(output), after: nil, fields: [])
            summary.add(left: change)
            try report(change)
        }
    }

    private func mismatch(_ baseline: Baseline) -> ReplayError {
        .unreadable(
            name: "the baseline",
            what: "none of its \(baseline.count) records comes from a record of \(source.name); they come from "
                + baseline.topics.map { SummaryText.shown($0) }.joined(separator: ", "))
    }
}
