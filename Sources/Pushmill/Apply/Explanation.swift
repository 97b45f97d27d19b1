import PushmillStages
import Synchronization

/// Tells what each stage did to a message, and how long it took.
final class Explanation: ChainObserver {
    private struct State {
        var names: [String] = []
        var content: NotificationContent?
    }

    private let console: Console
    private let state = Mutex(State())

    init(_ console: Console) { self.console = console }

    /// The stages, in the order of the chain.
    func name(_ stages: [String]) { state.withLock { $0.names = stages } }

    /// A heading for what follows.
    func begin(_ title: String) { console.error("\(title):") }

    func stagesWillBegin(_ content: NotificationContent) { state.withLock { $0.content = content } }

    func stageEnded(_ stage: Int, _ result: StageResult, nanoseconds: UInt64, content: NotificationContent) {
        let (name, before) = state.withLock { state -> (String, NotificationContent?) in
            defer { state.content = content }
            return (state.names[stage], state.content)
        }
        console.error("  \(name): \(result), \(Self.microseconds(nanoseconds)) us")
        guard let before else { return }
        for difference in JSONDifference.between(before.document, content.document) {
            console.error("    \(difference)")
        }
    }

    func stageAbandoned(_ stage: Int, isLate: Bool) {
        console.error("  \(state.withLock { $0.names[stage] }): its time is over")
    }

    func abandonedStageEnded(_ stage: Int) {}

    private static func microseconds(_ nanoseconds: UInt64) -> String {
        "\(nanoseconds / 1000).\(nanoseconds / 100 % 10)"
    }
}
