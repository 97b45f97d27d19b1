import Synchronization

/// How many lines were logged, by level, and how many of them were not written.
package final class LogCounts: Sendable {
    private let errors = Atomic(0)
    private let warnings = Atomic(0)
    private let infos = Atomic(0)
    private let debugs = Atomic(0)
    private let traces = Atomic(0)
    private let heldBackLines = Atomic(0)
    private let lostLines = Atomic(0)

    /// Lines of the level, whether written or held back.
    package func lines(_ level: LogLevel) -> Int {
        switch level {
        case .error: errors.load(ordering: .relaxed)
        case .warning: warnings.load(ordering: .relaxed)
        case .info: infos.load(ordering: .relaxed)
        case .debug: debugs.load(ordering: .relaxed)
        case .trace: traces.load(ordering: .relaxed)
        }
    }

    /// Lines that repeated an earlier one too often.
    package var heldBack: Int { heldBackLines.load(ordering: .relaxed) }

    /// Lines that the output did not take in time.
    package var lost: Int { lostLines.load(ordering: .relaxed) }

    func add(_ level: LogLevel) {
        switch level {
        case .error: errors.add(1, ordering: .relaxed)
        case .warning: warnings.add(1, ordering: .relaxed)
        case .info: infos.add(1, ordering: .relaxed)
        case .debug: debugs.add(1, ordering: .relaxed)
        case .trace: traces.add(1, ordering: .relaxed)
        }
    }

    func addHeldBack() { heldBackLines.add(1, ordering: .relaxed) }

    func addLost(_ count: Int) { lostLines.add(count, ordering: .relaxed) }
}
