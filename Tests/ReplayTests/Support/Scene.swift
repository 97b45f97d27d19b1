import PushmillPayload
import PushmillStages

@testable import PushmillReplay

/// Looks up texts by their key and the number in their first argument, as a catalog does.
struct Phrases: ImmediateStage {
    let name = "localize"
    var texts: [String: String]
    var isSingular: @Sendable (Int) -> Bool = { $0 == 1 }

    func didReceive(_ content: inout NotificationContent, context: StageContext) throws -> StageResult {
        guard let key = JSONPointer("/aps/alert/loc-key").flatMap({ content.string(at: $0) }) else { return .skipped }
        let number = JSONPointer("/aps/alert/loc-args/0").flatMap { content.string(at: $0) }.flatMap { Int($0) }
        let form = number.map { isSingular($0) ? ".one" : ".other" } ?? ""
        guard let text = texts[key + form] else { return .word("missing") }
        content.body = text.replacing("#", with: number.map { "\($0)" } ?? "")
        return .ok
    }
}

/// A configuration, and the outputs that it makes of a set of events.
struct Scene {
    static let texts = ["HELLO": "Hello", "BYE": "Goodbye", "NEW.one": "# message", "NEW.other": "# messages"]

    var phrases = Phrases(texts: texts)
    var more: [any Stage] = []
    var publishesExpired = true
    var counts: BadgeCounts?
    var recorded = RecordedOutputs()

    /// Events for each of `recipients`: greetings, numbers of messages, and payloads that are no notification.
    static func events(_ count: Int, recipients: Int = 7) -> [RecordEnvelope] {
        (0..<count).map { index in
            let alert =
                switch index % 5 {
                case 0: #"{"loc-key":"HELLO"}"#
                case 1: #"{"loc-key":"BYE"}"#
                default: #"{"loc-key":"NEW","loc-args":["\#(index % 3)"]}"#
                }
            let payload = #"{"aps":{"alert":\#(alert),"mutable-content":1,"badge":1},"price":1e2}"#
            return RecordEnvelope(
                index % 50 == 49 ? "nonsense" : payload, key: "recipient-\(index % recipients)", offset: Int64(index),
                partition: Int32(index % recipients % 2), headers: [("apns-topic", "com.example")])
        }
    }

    var candidate: Candidate {
        var settings = Chain.Settings()
        settings.publishesExpired = publishesExpired
        let stages: [any Stage] = [phrases, BadgeStage(mode: .increment)] + more
        let chain = Chain(
            stages.map { ChainLink(recorded.wrap($0)) }, settings: settings, time: .manual(ManualTime()))
        return Candidate(
            chain: chain, outputTopic: "output", deadLetterTopic: "dead", counts: counts, recorded: recorded)
    }

    /// The outputs as a golden capture holds them.
    func outputs(_ events: [RecordEnvelope]) async throws -> [RecordEnvelope] {
        var outputs: [RecordEnvelope] = []
        let run = ReplayRun(Recording(events), candidate, baseline: nil, keepsLines: true)
        _ = try await run.run(
            report: { _ in },
            publish: { line throws(ReplayError) in
                if let output = try? RecordEnvelope(line: line) { outputs.append(output) }
            })
        return outputs
    }

    struct Found {
        var summary: ReplaySummary
        var changes: [RecordChange]

        /// `field count`, the most frequent first.
        var fields: [String] { summary.fields.map { "\($0.name) \($0.count)" } }
    }

    func replay(
        _ events: [RecordEnvelope], against baseline: [RecordEnvelope], isWider: Bool = false,
        settings: ReplayRun.Settings = ReplayRun.Settings()
    ) async throws -> Found {
        let baseline = try await Baseline([Recording(baseline, name: "golden")], isWider: isWider)
        let run = ReplayRun(Recording(events), candidate, baseline: baseline, keepsLines: false, settings: settings)
        var changes: [RecordChange] = []
        let summary = try await run.run(report: { change throws(ReplayError) in changes.append(change) })
        return Found(summary: summary, changes: changes)
    }
}
