import Synchronization

@testable import PushmillPayload
@testable import PushmillStages

/// Records what a chain reports about its stages, as text.
final class RecordingObserver: ChainObserver {
    let measuresStages: Bool
    private let recorded = Mutex<[String]>([])

    init(measuresStages: Bool = false) { self.measuresStages = measuresStages }

    var events: [String] { recorded.withLock { $0 } }

    func stageEnded(_ stage: Int, _ result: StageResult, nanoseconds: UInt64, content: NotificationContent) {
        let time = measuresStages ? " \(nanoseconds)" : ""
        recorded.withLock { $0.append("\(stage) \(result)\(time)") }
    }

    func stageAbandoned(_ stage: Int, isLate: Bool) {
        recorded.withLock { $0.append("\(stage) \(isLate ? "abandoned" : "given up")") }
    }

    func abandonedStageEnded(_ stage: Int) { recorded.withLock { $0.append("\(stage) came late") } }
}
