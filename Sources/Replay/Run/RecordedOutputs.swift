import PushmillPayload
package import PushmillStages
import Synchronization

/// What the baseline says of the records that run now, by the places of their inputs: media, counts, and deadlines.
package final class RecordedOutputs: Sendable {
    private let repeatsDeadlines: Bool
    /// The recorded output, and the stages that were late.
    private let records = Mutex<[String: (line: [UInt8], late: Set<String>)]>([:])

    /// `repeatsDeadlines`: a stage that was late for a record in the baseline is late for it again, and gets its
    /// last-chance edit at once, however fast this machine is.
    package init(repeatsDeadlines: Bool = false) { self.repeatsDeadlines = repeatsDeadlines }

    /// Called before a record runs, with its output in the baseline, in the form of `BaselineLine`. True if the
    /// record's deadline expires.
    func expect(_ line: [UInt8]?, for input: RecordEnvelope) -> Bool {
        guard let line else { return false }
        let (late, isDeadline) = lateStages(line)
        records.withLock { $0[input.place] = (line, late) }
        return isDeadline
    }

    /// Called after the record has run.
    func forget(_ input: RecordEnvelope) { records.withLock { $0[input.place] = nil } }

    private func lateStages(_ line: [UInt8]) -> (names: Set<String>, isDeadline: Bool) {
        guard repeatsDeadlines, let output = try? RecordEnvelope(line: line),
            let stages = output.text("pushmill-stages")?.split(separator: ",")
        else { return ([], false) }
        let isDeadline = output.text("pushmill-outcome") == "\(Outcome.bestAttempt.name)"
        // A deadline expires for every stage that is left, whatever its last-chance edit reports.
        let late =
            isDeadline ? Array(stages.drop { !$0.hasSuffix("=expired") }) : stages.filter { $0.hasSuffix("=expired") }
        return (Set(late.map { String($0.prefix { $0 != "=" }) }), isDeadline)
    }

    /// The stage as the chain must contain it.
    package func wrap(_ stage: some Stage) -> any Stage {
        if repeatsDeadlines { return LateStage(stage: stage, recorded: self) }
        return stage
    }

    fileprivate func isLate(_ stage: String, _ context: StageContext) -> Bool {
        records.withLock { $0["\(context.source)"]?.late.contains(stage) ?? false }
    }

    fileprivate func output(of source: Source) -> RecordEnvelope? {
        records.withLock { $0["\(source)"]?.line }.flatMap { try? RecordEnvelope(line: $0) }
    }

    package func media(_ settings: MediaSettings) -> any MediaSource {
        RecordedMedia(recorded: self, members: settings.members)
    }

    /// A recipient's badge count before the first record, as far as the baseline reveals it: the badge it shows for the
    /// record, less what the record adds, which is nothing if it was counted before. Nil if it shows none. `stage` is
    /// the one that counts.
    func count(before record: InputRecord, by stage: String?) -> Int32? {
        guard let recorded = output(of: record.source), Self.isCounted(recorded, by: stage),
            let shown = NotificationContent(recorded)?.badge,
            let badge = NotificationContent(RecordEnvelope(input: record))?.badge, badge > 0 || record.has(.counted)
        else { return nil }
        let added = record.has(.counted) ? 0 : badge
        return shown < added ? 0 : Int32(clamping: shown - added)
    }

    /// In a dead letter, which has no stages, and if the stage was skipped or failed, the badge is the event's.
    private static func isCounted(_ output: RecordEnvelope, by stage: String?) -> Bool {
        guard let stages = output.text("pushmill-stages")?.split(separator: ",") else { return false }
        guard let stage, let entry = stages.first(where: { $0.hasPrefix("\(stage)=") }) else { return true }
        let result = entry.dropFirst(stage.count + 1)
        return result != "skipped" && !result.hasPrefix("failed")
    }
}

/// Media as it was recorded: a replay fetches nothing. Media that the baseline does not tell of stays unfetched.
private final class RecordedMedia: MediaSource {
    private let recorded: RecordedOutputs
    private let members: MediaMembers
    /// For media attached to content that was not published: which one is unknown. It takes as much room as any.
    private let standIn: Media

    init(recorded: RecordedOutputs, members: MediaMembers) {
        self.recorded = recorded
        self.members = members
        let types = MediaType.allCases.map { type in
            (type: type, length: type.fileExtension.utf8.count + (members.type == nil ? 0 : type.rawValue.utf8.count))
        }
        let longest = types.max { $0.length < $1.length }?.type ?? .aiff
        standIn = Media(hash: String(repeating: "0", count: 64), type: longest, size: longest.sizeLimit)
    }

    func known(at url: String, for context: StageContext) throws(MediaFailure) -> Media? {
        try media(at: url, for: context)
    }

    func media(at url: String, for context: StageContext) throws(MediaFailure) -> Media? {
        guard let output = recorded.output(of: context.source) else { return nil }
        let stages = output.text("pushmill-stages")?.split(separator: ",") ?? []
        let result = stages.first { $0.hasPrefix("attachment=") }?.drop { $0 != "=" }.dropFirst()
        switch result {
        case "ok":
            return output.text("pushmill-outcome") == "\(Outcome.original.name)" ? standIn : media(in: output)
        case "expired": throw .abandoned
        default:
            let failure = MediaFailure.allCases.first { result == "failed:\($0.reason)" }
            if let failure { throw failure }
            return nil
        }
    }

    private func media(in output: RecordEnvelope) -> Media? {
        guard let payload = output.payload,
            let document = try? JSONDocument(String(decoding: payload, as: UTF8.self)),
            let url = document.node(at: members.url).flatMap(document.string),
            let name = url.split(separator: "/").last
        else { return nil }
        let size = members.size.flatMap(document.node).flatMap(document.integer)
        return Media(name: String(name), size: size)
    }
}

private struct LateStage<Wrapped: Stage>: StageWrapper {
    let stage: Wrapped
    let recorded: RecordedOutputs

    var name: String { stage.name }
    var isImmediate: Bool { stage.isImmediate }
    var wrapped: any Stage { stage }

    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
        try await stage.didReceive(&content, context: context)
    }

    func didReceiveAtOnce(_ content: inout NotificationContent, context: StageContext) throws -> StageResult? {
        if recorded.isLate(name, context) { return stage.timeWillExpire(&content, context: context) }
        return try stage.didReceiveAtOnce(&content, context: context)
    }

    func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        stage.timeWillExpire(&content, context: context)
    }
}

/// A counting stage counts whether it is late or not.
extension LateStage: CountingStage where Wrapped: CountingStage {
    func didPass(clearing content: NotificationContent, context: StageContext) -> (BadgeOperation?, StageResult) {
        stage.didPass(clearing: content, context: context)
    }
}
