import PushmillKafka
package import PushmillPayload
import PushmillReplay
package import PushmillStages
import Synchronization

/// Reads the results that come from now on: notifications and dead letters.
struct DemoResults {
    private let notifications: TopicRecords
    private let deadLetters: TopicRecords

    init(servers: String) throws {
        let properties = ClientProperties([
            ("bootstrap.servers", servers), ("group.id", "pushmill-demo"), ("fetch.wait.max.ms", "50"),
        ])
        notifications = try TopicRecords(TopicRange(topic: "push.notifications"), properties)
        deadLetters = try TopicRecords(TopicRange(topic: "push.dead-letters"), properties)
    }

    /// Waits up to 20 ms for notifications. Returns nothing while brokers are unavailable.
    func poll() -> [RecordEnvelope] {
        let some = try? notifications.follow(milliseconds: 20)
        return (some ?? []) + ((try? deadLetters.follow(milliseconds: 0)) ?? [])
    }
}

struct DemoResult: Encodable, Sendable {
    let recipient: String
    let outcome: String
    /// What each stage did; for a dead letter the reason.
    let stages: String
    let before: DemoNotification
    let after: DemoNotification
}

extension DemoResult {
    init(_ event: DemoEvents.Event, _ record: RecordEnvelope) {
        let reason = record.text("pushmill.error.reason")
        self.init(
            recipient: event.recipient, outcome: reason == nil ? record.text("pushmill-outcome") ?? "" : "dead-letter",
            stages: reason ?? record.text("pushmill-stages") ?? "", before: DemoNotification(event.payload),
            after: DemoNotification(String(decoding: record.payload ?? [], as: UTF8.self)))
    }

    var text: String {
        let head = "\(recipient.padded(to: 8)) \(outcome.padded(to: 13)) \(stages)"
        guard before.text != after.text else { return "\(head)\n    =  \(before.text)" }
        return "\(head)\n    -  \(before.text)\n    +  \(after.text)"
    }
}

/// A payload as a lock screen would show it.
struct DemoNotification: Encodable, Sendable {
    private(set) var title: String?
    private(set) var subtitle: String?
    private(set) var body: String?
    private(set) var badge: Int?

    init(_ payload: String) {
        guard let content = try? NotificationContent(payload) else {
            body = payload
            return
        }
        title = content.title ?? content.localizationKey(of: .title)
        subtitle = content.subtitle ?? content.localizationKey(of: .subtitle)
        body = content.body ?? content.localizationKey(of: .body)
        badge = content.badge
        guard title != nil || subtitle != nil || body != nil else {
            body = "(silent)"
            return
        }
        if JSONPointer("/ENCRYPTED_DATA").flatMap(content.string) != nil { body = "\(body ?? "") 🔒" }
    }

    var text: String {
        let texts = [title, subtitle, body].compactMap { $0 }.filter { !$0.isEmpty }
        return texts.joined(separator: " · ") + (badge.map { " [\($0)]" } ?? "")
    }
}

/// A stage that asks a server for a preview and hangs for some events: the case that deadlines are for.
package struct DemoPreview: Stage {
    package let name = "preview"

    package static let entry = StageEntry("preview") { _ in { _ in DemoPreview() } }

    package func didReceive(
        _ content: inout NotificationContent, context: StageContext
    ) async throws -> StageResult {
        guard JSONPointer("/preview").flatMap(content.string) == "hangs" else { return .skipped }
        try await Task.sleep(for: .seconds(60))
        return .ok
    }
}

/// The latest results, for the page.
package final class DemoBoard: Sendable {
    private static let capacity = 6
    private let results = Mutex<[DemoResult]>([])

    package init() {}

    func add(_ result: DemoResult) {
        results.withLock { results in
            results.insert(result, at: 0)
            results.removeLast(max(0, results.count - Self.capacity))
        }
    }

    /// A JSON array, the latest first.
    package func json() -> [UInt8] { results.withLock { $0 }.json }
}

/// How the events ended, and how long each took.
package struct DemoSummary: Sendable {
    private struct Row {
        var count = 0
        /// The latest ones, in any order.
        var times: [Duration] = []
        var slowest = Duration.zero
        var reasons: [String: Int] = [:]

        mutating func add(_ result: DemoResult, _ time: Duration) {
            if times.count < DemoSummary.kept { times.append(time) } else { times[count % DemoSummary.kept] = time }
            count += 1
            slowest = max(slowest, time)
            if result.outcome == "dead-letter" { reasons[result.stages, default: 0] += 1 }
        }
    }

    /// How many times of each outcome are kept for the median.
    private static let kept = 10_000

    /// By outcome.
    private var rows: [String: Row] = [:]
    var sent = 0

    var count: Int { rows.values.reduce(0) { $0 + $1.count } }

    /// `time` is from sending the event to reading its result.
    mutating func add(_ result: DemoResult, time: Duration) {
        rows[result.outcome, default: Row()].add(result, time)
    }

    package var text: String {
        var lines = [
            "",
            "outcome".padded(to: 14) + "events".aligned(to: 8) + "median".aligned(to: 10) + "slowest".aligned(to: 10),
        ]
        for (outcome, row) in rows.sorted(by: { ($1.value.count, $0.key) < ($0.value.count, $1.key) }) {
            let times = row.times.sorted()
            let reasons = row.reasons.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            lines.append(
                outcome.padded(to: 14) + "\(row.count)".aligned(to: 8)
                    + milliseconds(times[times.count / 2]).aligned(to: 10) + milliseconds(row.slowest).aligned(to: 10)
                    + (reasons.isEmpty ? "" : "   \(reasons.joined(separator: ", "))"))
        }
        lines.append("all".padded(to: 14) + "\(count)".aligned(to: 8))
        if count < sent { lines.append("\(sent - count) of \(sent) events have no result yet.") }
        if count == 0, sent > 0 { lines.append("Is a service running, with the topics of the sample?") }
        return lines.joined(separator: "\n")
    }

    private func milliseconds(_ time: Duration) -> String { "\(Int(time / .milliseconds(1))) ms" }
}
