import FoundationEssentials
import Pushmill

/// The push carries today's numbers and nothing else; this stage knows the recipient's tickets and writes what they have
/// won. It neither suspends nor blocks, so it is an immediate stage.
struct LotteryStage: ImmediateStage {
    let name = "lottery"
    var results: [StageResult] { [.word("no-ticket")] }

    /// Each recipient's tickets.
    let tickets: [String: [Set<Int>]]

    func didReceive(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        let numbers = numbers(in: content)
        guard !numbers.isEmpty else { return .skipped }
        let own = context.recipient.flatMap { tickets[$0] } ?? []
        guard let best = own.map({ $0.intersection(numbers).count }).max() else {
            content.body = "Today's numbers are out."
            return .word("no-ticket")
        }
        content.body = best > 2 ? "\(best) of \(numbers.count): you have won!" : "Better luck tomorrow."
        return .ok
    }

    func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        guard !numbers(in: content).isEmpty else { return .skipped }
        content.body = "Today's numbers are out."
        return .expired
    }

    private func numbers(in content: NotificationContent) -> Set<Int> {
        guard let list = JSONPointer("/numbers").flatMap(content.node) else { return [] }
        var numbers: Set<Int> = []
        content.document.forEachChild(of: list) { number in
            if let number = content.document.integer(of: number) { numbers.insert(number) }
        }
        return numbers
    }
}

extension LotteryStage {
    /// How a configuration asks for this stage.
    static let entry = StageEntry("lottery", read: read)

    /// `tickets` names a JSON file: `{"anna": [[3, 14, 15, 22, 41, 48]]}`.
    private static func read(_ settings: inout SettingReader) -> StageEntry.Build? {
        guard let file = settings.required("tickets", .file) else { return nil }
        return { _ in
            let tickets = try JSONDecoder().decode(
                [String: [Set<Int>]].self, from: Data(contentsOf: URL(filePath: file)))
            return LotteryStage(tickets: tickets)
        }
    }
}
