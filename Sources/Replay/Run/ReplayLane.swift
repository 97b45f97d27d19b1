package import PushmillPayload
package import PushmillStages

/// Runs the records of some recipients, one after another, and compares their outputs with the baseline.
final class ReplayLane: Sendable {
    struct Item: Sendable {
        let position: Int
        let input: RecordEnvelope
        /// In the form of `BaselineLine`.
        let baseline: [UInt8]?
    }

    struct Replayed: Sendable {
        var position = 0
        /// False if its key or category excludes it.
        var isMeant = true
        /// False if the filter excludes it.
        var isCompared = true
        /// An outcome; nil if nothing was published.
        var before: String?
        var after: String?
        var change: RecordChange?
        /// The line for the golden file.
        var line: [UInt8] = []
    }

    private let rehearsal: Rehearsal
    private let candidate: Candidate
    private let comparison: RecordComparison
    private let filter: RecordFilter
    private let keepsLines: Bool

    init(_ candidate: Candidate, _ comparison: RecordComparison, _ filter: RecordFilter, keepsLines: Bool) {
        self.candidate = candidate
        self.comparison = comparison
        self.filter = filter
        self.keepsLines = keepsLines
        let (recorded, stage) = (candidate.recorded, candidate.chain.countingStage)
        let counts = candidate.counts ?? BadgeCounts { recorded.count(before: $0, by: stage) }
        rehearsal = Rehearsal(candidate.chain, counts: counts)
    }

    @concurrent func run(_ items: [Item]) async throws(ReplayError) -> [Replayed] {
        try await run(items, on: rehearsal)
    }

    /// Runs on the rehearsal's own executor: a change of executors costs more than a message.
    private func run(_ items: [Item], on rehearsal: isolated Rehearsal) async throws(ReplayError) -> [Replayed] {
        var replayed: [Replayed] = []
        replayed.reserveCapacity(items.count)
        for item in items { replayed.append(try await run(item, on: rehearsal)) }
        return replayed
    }

    private func run(_ item: Item, on rehearsal: isolated Rehearsal) async throws(ReplayError) -> Replayed {
        let isLate = candidate.recorded.expect(item.baseline, for: item.input)
        let result = await rehearsal.run(item.input, wallClock: item.input.timestamp)
        candidate.recorded.forget(item.input)
        var outcome = result.verdict.outcome
        var output = candidate.output(of: result)
        if isLate, outcome == .modified {
            outcome = .bestAttempt
            output?.setHeader("pushmill-outcome", to: outcome.name)
        }
        var replayed = Replayed()
        replayed.position = item.position
        replayed.after = output.map { _ in "\(outcome.name)" }
        if keepsLines { output?.append(to: &replayed.line) }
        guard filter.admits(item.input) else {
            (replayed.isMeant, replayed.isCompared) = (false, false)
            return replayed
        }
        try compare(output, item, &replayed)
        replayed.isCompared = filter.admits(outcomes: replayed.before, replayed.after)
        return replayed
    }

    private func compare(
        _ output: RecordEnvelope?, _ item: Item, _ replayed: inout Replayed
    ) throws(ReplayError) {
        guard let line = item.baseline else {
            if let output { replayed.change = change(.new, item, before: nil, after: output) }
            return
        }
        if let output, BaselineLine.bytes(of: output) == line {
            replayed.before = replayed.after
            return
        }
        let place = OutputPlace(item.input)
        let before = try BaselineLine.read(line, from: place)
        replayed.before = before.text("pushmill-outcome")
        guard let output else {
            replayed.change = change(.missing, item, before: before, after: nil)
            return
        }
        let fields = comparison.changes(from: before, to: output)
        if !fields.isEmpty { replayed.change = change(.changed, item, before: before, after: output, fields) }
    }

    private func change(
        _ kind: RecordChange.Kind, _ item: Item, before: RecordEnvelope?, after: RecordEnvelope?,
        _ fields: [FieldChange] = []
    ) -> RecordChange {
        RecordChange(
            kind: kind, source: item.input.place, before: before.map(RecordSide.init),
            after: after.map(RecordSide.init), fields: fields)
    }
}

/// The configuration that is tried: a chain, and the topics that its outputs would go to.
package struct Candidate: Sendable {
    package let chain: Chain
    package let outputTopic: String
    package let deadLetterTopic: String
    /// The counts to begin with; nil to take them from the baseline.
    package let counts: BadgeCounts?
    /// Provides the media, counts and deadlines of the baseline. Has wrapped the stages of the chain.
    package let recorded: RecordedOutputs

    package init(
        chain: Chain, outputTopic: String, deadLetterTopic: String, counts: BadgeCounts?,
        recorded: RecordedOutputs = RecordedOutputs()
    ) {
        self.chain = chain
        self.outputTopic = outputTopic
        self.deadLetterTopic = deadLetterTopic
        self.counts = counts
        self.recorded = recorded
    }

    /// The record that is published for a result; nil if none is.
    package func output(of result: Rehearsal.Result) -> RecordEnvelope? {
        var output = result.output
        switch result.verdict.destination {
        case .output: output.topic = outputTopic
        case .deadLetters: output.topic = deadLetterTopic
        case .nowhere: return nil
        }
        return output
    }
}
