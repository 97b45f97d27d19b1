package import PushmillStages

/// The configuration that is tried: a chain, and where its outputs would go.
package struct Candidate: Sendable {
    package let chain: Chain
    package let outputTopic: String
    package let deadLetterTopic: String
    /// The counts to begin with; nil to take them from the baseline.
    package let counts: BadgeCounts?
    /// Has wrapped the stages of the chain, so that those late in the baseline are late again; nil for no deadlines.
    package let lateness: LateStages?
    /// What media the baseline tells of, where that is all there is.
    package let media: RecordedMedia?

    package init(
        chain: Chain, outputTopic: String, deadLetterTopic: String, counts: BadgeCounts?, lateness: LateStages? = nil,
        media: RecordedMedia? = nil
    ) {
        self.chain = chain
        self.outputTopic = outputTopic
        self.deadLetterTopic = deadLetterTopic
        self.counts = counts
        self.lateness = lateness
        self.media = media
    }

    /// What is published for a record, nil for nothing.
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
