import PushmillStages
import PushmillTelemetry

/// Counts the stages that lost their message, and those that ended after that.
final class AbandonedStages: ChainObserver {
    private let stages: [StageMetrics]

    init(_ metrics: ServiceMetrics) { stages = metrics.stages }

    func stageAbandoned(_ stage: Int, isLate: Bool) {
        if isLate { stages[stage].expired.add() }
        stages[stage].abandoned.add(1)
    }

    func abandonedStageEnded(_ stage: Int) {
        stages[stage].late.add()
        stages[stage].abandoned.add(-1)
    }
}
