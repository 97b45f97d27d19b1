import PushmillPayload
package import PushmillStages
import Synchronization

/// Deadlines as they were recorded: a stage that was late for a record in the baseline is late for it again, and gets its
/// last-chance edit at once. How fast this machine is does not matter.
package final class LateStages: Sendable {
    private let late = Mutex<[String: Set<String>]>([:])

    package init() {}

    /// The stage as the chain is to have it.
    package func wrap(_ stage: some Stage) -> any Stage { LateStage(stage: stage, lateness: self) }

    /// Before the record is run, with its output in the baseline, in the form of `BaselineLine`. True if the deadline
    /// came for it.
    func expect(_ line: [UInt8]?, for input: RecordEnvelope) -> Bool {
        guard let line, Self.mentionsLateness(line), let output = try? RecordEnvelope(line: line),
            let stages = output.text("pushmill-stages")?.split(separator: ",")
        else { return false }
        let isDeadline = output.text("pushmill-outcome") == "\(Outcome.bestAttempt.name)"
        // When the deadline comes, it comes for every stage that is left, whatever its last-chance edit reports.
        let late =
            isDeadline ? Array(stages.drop { !$0.hasSuffix("=expired") }) : stages.filter { $0.hasSuffix("=expired") }
        let names = late.map { String($0.prefix { $0 != "=" }) }
        self.late.withLock { $0[input.place] = Set(names) }
        return isDeadline
    }

    func forget(_ input: RecordEnvelope) {
        late.withLock { late in
            if !late.isEmpty { late[input.place] = nil }
        }
    }

    fileprivate func contains(_ stage: String, _ context: StageContext) -> Bool {
        late.withLock { late in
            !late.isEmpty && late["\(context.source)"]?.contains(stage) ?? false
        }
    }

    /// When the deadline came, all that was left may have had nothing to do. What headers in base64 say is not seen.
    private static func mentionsLateness(_ line: [UInt8]) -> Bool {
        marks.contains { mark in line.indices.contains { line[$0] == mark[0] && line[$0...].starts(with: mark) } }
    }

    private static let marks = [
        Array("=expired".utf8), Array("\(Outcome.bestAttempt.name)".utf8), Array("\"headers_b64\"".utf8),
    ]
}

private struct LateStage<Wrapped: Stage>: Stage {
    let stage: Wrapped
    let lateness: LateStages

    var name: String { stage.name }
    var isImmediate: Bool { stage.isImmediate }

    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
        try await stage.didReceive(&content, context: context)
    }

    func didReceiveAtOnce(_ content: inout NotificationContent, context: StageContext) throws -> StageResult? {
        if lateness.contains(name, context) { return stage.timeWillExpire(&content, context: context) }
        return try stage.didReceiveAtOnce(&content, context: context)
    }

    func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        stage.timeWillExpire(&content, context: context)
    }
}

/// What counts does so whether it is late or not.
extension LateStage: CountingStage where Wrapped: CountingStage {
    func didPass(clearing content: NotificationContent, context: StageContext) -> (BadgeOperation?, StageResult) {
        stage.didPass(clearing: content, context: context)
    }
}
